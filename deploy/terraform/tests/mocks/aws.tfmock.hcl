# What AWS would make up, in the form that the provider looks at.

mock_data "aws_availability_zones" {
  defaults = { names = ["eu-central-1a", "eu-central-1b", "eu-central-1c"] }
}

mock_resource "aws_kms_key" {
  defaults = { arn = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-4000-8000-000000000000" }
}

mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::123456789012:role/a" }
}

mock_resource "aws_ecs_task_definition" {
  defaults = { arn = "arn:aws:ecs:eu-central-1:123456789012:task-definition/a:1" }
}

mock_resource "aws_ecs_cluster" {
  defaults = { id = "arn:aws:ecs:eu-central-1:123456789012:cluster/a" }
}

mock_resource "aws_lb" {
  defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/app/a/1", arn_suffix = "app/a/1" }
}

mock_resource "aws_lb_target_group" {
  defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/a/1", arn_suffix = "targetgroup/a/1" }
}

mock_resource "aws_lb_listener" {
  defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:listener/app/a/1/2" }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = { arn = "arn:aws:logs:eu-central-1:123456789012:log-group:/holdfast/a" }
}

mock_resource "aws_secretsmanager_secret" {
  defaults = { arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:a-AbCdEf" }
}

mock_resource "aws_db_instance" {
  defaults = {
    address            = "a.eu-central-1.rds.amazonaws.com"
    master_user_secret = [{ secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:rds-AbCdEf" }]
  }
}
