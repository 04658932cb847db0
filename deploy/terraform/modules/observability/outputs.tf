output "log_groups" {
  value = { for name, group in aws_cloudwatch_log_group.this : name => group.arn }
}

output "metrics_namespace" {
  value = local.namespace
}
