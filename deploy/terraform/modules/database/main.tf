# The PostgreSQL servers, one an entry. The processes connect to them directly, as
# roles that own nothing; the schema's owner is a role too, made by the bootstrap task
# (modules/compute). The master's password is RDS's own to make and to rotate.

resource "aws_db_subnet_group" "this" {
  name       = var.name
  subnet_ids = var.subnet_ids
}

resource "aws_db_parameter_group" "this" {
  name   = "${var.name}-postgres${var.major_version}"
  family = "postgres${var.major_version}"

  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }

  # Sessions that a vanished task has left end soon, and with them their locks.
  parameter {
    name  = "tcp_keepalives_idle"
    value = "30"
  }

  parameter {
    name  = "tcp_keepalives_interval"
    value = "10"
  }

  # Statements' texts name columns only, and their arguments are never logged.
  parameter {
    name  = "log_parameter_max_length"
    value = "0"
  }

  parameter {
    name  = "log_min_duration_statement"
    value = "1000"
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_db_instance" "this" {
  for_each = var.databases

  identifier     = "${var.name}-${each.key}"
  engine         = "postgres"
  engine_version = var.major_version
  instance_class = each.value.instance_class

  storage_type          = "gp3"
  allocated_storage     = each.value.storage_gb
  max_allocated_storage = each.value.max_storage_gb
  storage_encrypted     = true
  kms_key_id            = var.kms_key_arn

  username                      = "postgres"
  manage_master_user_password   = true
  master_user_secret_kms_key_id = var.kms_key_arn

  db_subnet_group_name   = aws_db_subnet_group.this.name
  vpc_security_group_ids = [var.security_group_id]
  publicly_accessible    = false
  parameter_group_name   = aws_db_parameter_group.this.name
  ca_cert_identifier     = "rds-ca-rsa2048-g1"

  multi_az                  = var.multi_az
  backup_retention_period   = var.backup_days
  backup_window             = "03:00-04:00"
  maintenance_window        = "sun:04:30-sun:05:30"
  copy_tags_to_snapshot     = true
  delete_automated_backups  = false
  deletion_protection       = true
  skip_final_snapshot       = false
  final_snapshot_identifier = "${var.name}-${each.key}-final"

  auto_minor_version_upgrade      = true
  allow_major_version_upgrade     = false
  apply_immediately               = false
  performance_insights_enabled    = true
  performance_insights_kms_key_id = var.kms_key_arn
  enabled_cloudwatch_logs_exports = ["postgresql"]
}
