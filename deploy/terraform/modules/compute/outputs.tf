output "dns_name" {
  value = aws_lb.this.dns_name
}

output "load_balancer" {
  description = "As metrics name it."
  value       = aws_lb.this.arn_suffix
}

output "target_group" {
  description = "As metrics name it."
  value       = aws_lb_target_group.api.arn_suffix
}

# What task.sh and roll.sh work with.
output "roll" {
  value = {
    region         = var.region
    image          = var.image
    cluster        = aws_ecs_cluster.this.name
    subnets        = var.network.private_subnet_ids
    security_group = var.network.tasks_security_group_id

    services = { for name, task in aws_ecs_task_definition.server : name => task.arn }
    tasks = merge(
      { for name, task in aws_ecs_task_definition.job : name => {
        definition = task.arn, container = name, log = local.logging[name].options["awslogs-group"]
      } },
      { for name, task in aws_ecs_task_definition.bootstrap : "bootstrap-${name}" => {
        definition = task.arn, container = "bootstrap", log = local.logging["bootstrap"].options["awslogs-group"]
      } },
    )
  }
}
