output "kms_key_arn" {
  value = aws_kms_key.this.arn
}

output "arns" {
  value = { for name, secret in aws_secretsmanager_secret.this : name => secret.arn }
}
