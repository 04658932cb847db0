# Where logs and metrics go, and what is told of them. The alarms are on the signals
# that deploy/observability's rules are on, as far as CloudWatch has them, and on what
# AWS alone knows: the load balancer and the databases.

locals {
  namespace = "Holdfast/${var.name}"
  told      = var.alarm_topic_arn == "" ? [] : [var.alarm_topic_arn]
}

resource "aws_cloudwatch_log_group" "this" {
  for_each = toset(["api", "worker", "schema", "qualify", "bootstrap", "metrics"])

  name              = "/${replace(var.name, "-", "/")}/${each.key}"
  retention_in_days = var.log_days
}

# --- What the processes say of themselves. Each lasts three of five minutes. ---

locals {
  signals = {
    jobs-late = {
      metric      = "holdfast_jobs_oldest_seconds"
      above       = 300
      description = "A job has been due for five minutes: there are too few workers, or they fail."
    }
    schedules-late = {
      metric      = "holdfast_jobs_schedule_overdue_seconds"
      above       = 300
      description = "A schedule has not been served for five minutes: nothing of its kind is asked for any more."
    }
    operations-overdue = {
      metric      = "holdfast_identity_operations_overdue_seconds"
      above       = 60
      description = "Unfinished changes of accounts are overdue: the sweep doesn't come to them."
    }
    sweep-old = {
      metric      = "holdfast_sweep_pass_age_seconds"
      above       = 3600
      description = "A sweep hasn't been all round for an hour."
    }
    migration-stopped = {
      metric      = "holdfast_migration_open"
      above       = 0
      description = "A migration of bodies has stopped, and waits for a person."
    }
    bodies-corrupt = {
      metric      = "holdfast_bodies_corrupt_total"
      above       = 0
      description = "A body in the object store isn't the one that its digest says: see docs/incidents.md."
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "signal" {
  for_each = local.signals

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = local.namespace
  metric_name         = each.value.metric
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.above
  period              = 60
  evaluation_periods  = 5
  datapoints_to_alarm = each.value.above == 0 ? 1 : 3
  treat_missing_data  = "notBreaching" # silence has an alarm of its own
  alarm_actions       = local.told
  ok_actions          = local.told
}

# No worker leads, or none says so: the one alarm that silence raises.
resource "aws_cloudwatch_metric_alarm" "no_leader" {
  alarm_name          = "${var.name}-no-leader"
  alarm_description   = "No worker leads: schedules aren't served, and nothing is swept."
  namespace           = local.namespace
  metric_name         = "holdfast_jobs_leader"
  statistic           = "Maximum"
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  period              = 60
  evaluation_periods  = 5
  datapoints_to_alarm = 5
  treat_missing_data  = "breaching"
  alarm_actions       = local.told
  ok_actions          = local.told
}

# --- The load balancer's ---

locals {
  balanced = {
    failures = {
      metric      = "HTTPCode_Target_5XX_Count"
      statistic   = "Sum"
      above       = 20
      description = "The API answers many requests with 5xx."
    }
    refused = {
      metric      = "HTTPCode_ELB_5XX_Count"
      statistic   = "Sum"
      above       = 20
      description = "The load balancer finds no process that answers."
    }
    unready = {
      metric      = "UnHealthyHostCount"
      statistic   = "Minimum"
      above       = 0
      description = "A process has not been ready for minutes."
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "balanced" {
  for_each = local.balanced

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/ApplicationELB"
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.above
  period              = 60
  evaluation_periods  = 5
  datapoints_to_alarm = 3
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.told
  ok_actions          = local.told

  dimensions = each.value.metric == "HTTPCode_ELB_5XX_Count" ? {
    LoadBalancer = var.load_balancer
    } : {
    LoadBalancer = var.load_balancer
    TargetGroup  = var.target_group
  }
}

resource "aws_cloudwatch_metric_alarm" "slow" {
  alarm_name          = "${var.name}-slow"
  alarm_description   = "One request of a hundred takes more than two seconds."
  namespace           = "AWS/ApplicationELB"
  metric_name         = "TargetResponseTime"
  extended_statistic  = "p99"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 2
  period              = 60
  evaluation_periods  = 5
  datapoints_to_alarm = 5
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.told
  ok_actions          = local.told

  dimensions = {
    LoadBalancer = var.load_balancer
    TargetGroup  = var.target_group
  }
}

# --- Each database's ---

locals {
  database_signals = {
    cpu = {
      metric      = "CPUUtilization"
      comparison  = "GreaterThanThreshold"
      threshold   = 85
      description = "The database has no computing power left."
    }
    storage = {
      metric      = "FreeStorageSpace"
      comparison  = "LessThanThreshold"
      threshold   = 10 * 1024 * 1024 * 1024
      description = "The database has less than 10 GiB of storage left, and has not grown by itself."
    }
    transaction-ids = {
      metric      = "MaximumUsedTransactionIDs"
      comparison  = "GreaterThanThreshold"
      threshold   = 1000000000
      description = "The database's transaction ids are half used up: vacuum can't keep up."
    }
  }

  database_alarms = merge([
    for database, id in var.database_ids : {
      for name, signal in local.database_signals : "${database}-${name}" => merge(signal, { id = id })
    }
  ]...)
}

resource "aws_cloudwatch_metric_alarm" "database" {
  for_each = local.database_alarms

  alarm_name          = "${var.name}-database-${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/RDS"
  metric_name         = each.value.metric
  statistic           = "Average"
  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  period              = 60
  evaluation_periods  = 5
  datapoints_to_alarm = 5
  treat_missing_data  = "missing"
  alarm_actions       = local.told
  ok_actions          = local.told

  dimensions = {
    DBInstanceIdentifier = each.value.id
  }
}
