# The secrets are made here, and never their values: a person puts those
# (docs/deploy.md), so that they stand in no state, no plan and no shell of a
# pipeline. Each is read by those tasks only that need it (modules/compute).

resource "aws_kms_key" "this" {
  description             = "${var.name}: databases and secrets"
  enable_key_rotation     = true
  deletion_window_in_days = 30
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}

locals {
  secrets = {
    owner_password  = "The password of the role holdfast_owner, for bootstrap and schema"
    api_password    = "The password of the role holdfast_api"
    worker_password = "The password of the role holdfast_worker"
    server_keys     = "HOLDFAST_SERVER_KEYS"
    operator_key    = "The first operator's API key, who is made when there is none"
    bodies          = "R2's token for the processes, JSON: access_key_id, secret_access_key"
  }
}

resource "aws_secretsmanager_secret" "this" {
  for_each = local.secrets

  name                    = "${var.name}/${replace(each.key, "_", "-")}"
  description             = each.value
  kms_key_id              = aws_kms_key.this.arn
  recovery_window_in_days = 30
}
