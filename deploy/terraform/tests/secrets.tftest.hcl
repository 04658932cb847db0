mock_provider "aws" {
  source = "./tests/mocks"
}

run "secrets_are_made_without_values" {
  module {
    source = "./modules/secrets"
  }
  variables {
    name = "holdfast-test"
  }

  assert {
    condition     = aws_kms_key.this.enable_key_rotation && aws_kms_key.this.deletion_window_in_days == 30
    error_message = "The key isn't rotated, or gone at once when somebody deletes it."
  }

  assert {
    condition     = alltrue([for s in aws_secretsmanager_secret.this : s.kms_key_id == aws_kms_key.this.arn && s.recovery_window_in_days == 30])
    error_message = "A secret is under another key, or gone at once when somebody deletes it."
  }

  assert {
    condition     = length(aws_secretsmanager_secret.this) == 6 && length(regexall("aws_secretsmanager_secret_version|secret_string|random_password", join("", [for f in fileset(".", "**/*.tf") : file(f)]))) == 0
    error_message = "Terraform gives a secret its value, which then stands in its state."
  }
}
