output "ids" {
  value = { for name, db in aws_db_instance.this : name => db.identifier }
}

output "addresses" {
  description = "The hosts' names, by the databases' names."
  value       = { for name, db in aws_db_instance.this : name => db.address }
}

output "master_secret_arns" {
  description = "RDS's own secrets: JSON with username and password."
  value       = { for name, db in aws_db_instance.this : name => db.master_user_secret[0].secret_arn }
}
