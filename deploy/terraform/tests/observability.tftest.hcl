mock_provider "aws" {
  source = "./tests/mocks"
}

run "somebody_is_told" {
  module {
    source = "./modules/observability"
  }
  variables {
    name            = "holdfast-test"
    log_days        = 400
    alarm_topic_arn = "arn:aws:sns:eu-central-1:123456789012:holdfast"
    database_ids    = { control = "holdfast-test-control", data1 = "holdfast-test-data1" }
    load_balancer   = "app/a/1"
    target_group    = "targetgroup/a/1"
  }

  assert {
    condition = alltrue([
      for a in concat(values(aws_cloudwatch_metric_alarm.signal), values(aws_cloudwatch_metric_alarm.balanced), values(aws_cloudwatch_metric_alarm.database), [aws_cloudwatch_metric_alarm.no_leader, aws_cloudwatch_metric_alarm.slow]) :
      a.alarm_actions == toset([var.alarm_topic_arn]) && a.ok_actions == toset([var.alarm_topic_arn])
    ])
    error_message = "An alarm tells nobody."
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.database) == 2 * 3
    error_message = "A database has no alarms."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.no_leader.treat_missing_data == "breaching"
    error_message = "Nobody is told when all workers are silent."
  }

  # The collector drops what isn't in its list, and an alarm on that would be silent.
  assert {
    condition     = alltrue([for s in concat(values(aws_cloudwatch_metric_alarm.signal), [aws_cloudwatch_metric_alarm.no_leader]) : strcontains(file("modules/compute/collector.tf"), "\"${s.metric_name}\"")])
    error_message = "An alarm is on a metric that the collector doesn't keep."
  }

  assert {
    condition     = alltrue([for g in aws_cloudwatch_log_group.this : g.retention_in_days == 400])
    error_message = "A log is kept for another time."
  }
}
