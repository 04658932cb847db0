# How many tasks there are: of the API by work and by requests, of the worker by the
# jobs that are due.

resource "aws_appautoscaling_target" "server" {
  for_each = local.servers

  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = "service/${aws_ecs_cluster.this.name}/${aws_ecs_service.server[each.key].name}"
  min_capacity       = var.serve ? each.value.size.least : 0
  max_capacity       = var.serve ? each.value.size.most : 0
}

resource "aws_appautoscaling_policy" "api_cpu" {
  name               = "cpu"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.server["api"].service_namespace
  scalable_dimension = aws_appautoscaling_target.server["api"].scalable_dimension
  resource_id        = aws_appautoscaling_target.server["api"].resource_id

  target_tracking_scaling_policy_configuration {
    target_value       = 60
    scale_out_cooldown = 30
    scale_in_cooldown  = 300

    predefined_metric_specification {
      predefined_metric_type = "ECSServiceAverageCPUUtilization"
    }
  }
}

resource "aws_appautoscaling_policy" "api_requests" {
  name               = "requests"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.server["api"].service_namespace
  scalable_dimension = aws_appautoscaling_target.server["api"].scalable_dimension
  resource_id        = aws_appautoscaling_target.server["api"].resource_id

  target_tracking_scaling_policy_configuration {
    target_value       = var.api.requests_per_minute
    scale_out_cooldown = 30
    scale_in_cooldown  = 300

    predefined_metric_specification {
      predefined_metric_type = "ALBRequestCountPerTarget"
      resource_label         = "${aws_lb.this.arn_suffix}/${aws_lb_target_group.api.arn_suffix}"
    }
  }
}

# The jobs that are due and that nobody works at, a running task.
resource "aws_appautoscaling_policy" "worker_queue" {
  name               = "queue"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.server["worker"].service_namespace
  scalable_dimension = aws_appautoscaling_target.server["worker"].scalable_dimension
  resource_id        = aws_appautoscaling_target.server["worker"].resource_id

  target_tracking_scaling_policy_configuration {
    target_value       = var.worker.jobs_due
    scale_out_cooldown = 60
    scale_in_cooldown  = 600

    customized_metric_specification {
      metrics {
        id          = "due"
        return_data = false

        metric_stat {
          stat = "Maximum"

          metric {
            namespace   = var.metrics_namespace
            metric_name = "holdfast_jobs_depth"

            dimensions {
              name  = "state"
              value = "available"
            }
          }
        }
      }

      metrics {
        id          = "running"
        return_data = false

        metric_stat {
          stat = "Average"

          metric {
            namespace   = "ECS/ContainerInsights"
            metric_name = "RunningTaskCount"

            dimensions {
              name  = "ClusterName"
              value = aws_ecs_cluster.this.name
            }

            dimensions {
              name  = "ServiceName"
              value = aws_ecs_service.server["worker"].name
            }
          }
        }
      }

      metrics {
        id          = "due_a_task"
        expression  = "due / running"
        label       = "Jobs that are due, a running worker"
        return_data = true
      }
    }
  }
}
