# The two services. What they run is moved by roll.sh and not by an apply: the schema
# goes first, and then the workers, and an apply knows no such order. So an apply
# registers what a build's tasks are, and leaves alone what runs.

resource "aws_ecs_cluster" "this" {
  name = var.name

  setting {
    name  = "containerInsights"
    value = "enabled" # the count of running tasks, by which the worker is scaled
  }
}

resource "aws_ecs_service" "server" {
  for_each = local.servers

  name            = each.key
  cluster         = aws_ecs_cluster.this.id
  task_definition = aws_ecs_task_definition.server[each.key].arn
  desired_count   = var.serve ? each.value.size.least : 0
  launch_type     = "FARGATE"

  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  enable_execute_command             = false
  propagate_tags                     = "SERVICE"
  health_check_grace_period_seconds  = each.key == "api" ? 60 : null

  # A deployment that doesn't come up stops. It isn't taken back by itself: the build
  # before may be below the floor that this one's schema has set.
  deployment_circuit_breaker {
    enable   = true
    rollback = false
  }

  network_configuration {
    subnets          = var.network.private_subnet_ids
    security_groups  = [var.network.tasks_security_group_id]
    assign_public_ip = false
  }

  dynamic "load_balancer" {
    for_each = each.key == "api" ? [aws_lb_target_group.api.arn] : []

    content {
      target_group_arn = load_balancer.value
      container_name   = "api"
      container_port   = var.network.api_port
    }
  }

  lifecycle {
    ignore_changes = [task_definition, desired_count]
  }

  depends_on = [aws_lb_listener.https, aws_iam_role_policy.execution]
}
