mock_provider "aws" {
  source = "./tests/mocks"
}

run "databases_are_private_and_can_be_restored" {
  module {
    source = "./modules/database"
  }
  variables {
    name = "holdfast-test"
    databases = {
      control = { instance_class = "db.m7g.large", storage_gb = 50, max_storage_gb = 500 }
      data1   = { instance_class = "db.m7g.large", storage_gb = 50, max_storage_gb = 500, numbers = "0-63" }
    }
    subnet_ids        = ["subnet-1", "subnet-2"]
    security_group_id = "sg-1"
    kms_key_arn       = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-4000-8000-000000000000"
    multi_az          = true
    backup_days       = 35
  }

  assert {
    condition     = keys(aws_db_instance.this) == ["control", "data1"]
    error_message = "There isn't a server for each entry."
  }

  assert {
    condition     = alltrue([for db in aws_db_instance.this : db.publicly_accessible == false && db.vpc_security_group_ids == toset(["sg-1"])])
    error_message = "A database is public, or has further rules."
  }

  assert {
    condition     = alltrue([for db in aws_db_instance.this : db.storage_encrypted && db.kms_key_id == var.kms_key_arn])
    error_message = "A database isn't encrypted with the environment's own key."
  }

  assert {
    condition     = alltrue([for db in aws_db_instance.this : db.deletion_protection && !db.skip_final_snapshot && !db.delete_automated_backups])
    error_message = "A database can be deleted, or with its backups."
  }

  assert {
    condition     = alltrue([for db in aws_db_instance.this : db.multi_az && db.backup_retention_period == 35 && db.copy_tags_to_snapshot])
    error_message = "A database has no standby or no backups."
  }

  assert {
    condition     = alltrue([for db in aws_db_instance.this : db.manage_master_user_password && db.password == null])
    error_message = "A master's password is known to somebody."
  }

  assert {
    condition     = alltrue([for db in aws_db_instance.this : !db.allow_major_version_upgrade && !db.apply_immediately])
    error_message = "A database may be restarted or upgraded by an apply."
  }

  assert {
    condition     = contains([for p in aws_db_parameter_group.this.parameter : p.value if p.name == "rds.force_ssl"], "1")
    error_message = "Connections in clear are taken."
  }

  assert {
    condition     = alltrue([for db in aws_db_instance.this : db.parameter_group_name == aws_db_parameter_group.this.name])
    error_message = "A database has other parameters."
  }
}
