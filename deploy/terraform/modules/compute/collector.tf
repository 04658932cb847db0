# What the collector beside each server does: it reads the private port twice a
# minute, keeps what alarms and scaling look at, and writes it in CloudWatch's
# embedded format. All workers report the same depths and ages of jobs, so whoever
# reads those takes the greatest.

locals {
  logging = {
    for name, arn in var.log_groups : name => {
      logDriver = "awslogs"
      options = {
        awslogs-group         = regex("log-group:([^:]+)", arn)[0]
        awslogs-region        = var.region
        awslogs-stream-prefix = "task"
      }
    }
  }

  kept = [
    "holdfast_bodies_corrupt_total",
    "holdfast_identity_operations_overdue_seconds",
    "holdfast_jobs_depth",
    "holdfast_jobs_leader",
    "holdfast_jobs_oldest_seconds",
    "holdfast_jobs_schedule_overdue_seconds",
    "holdfast_migration_open",
    "holdfast_record_unreferenced_bytes",
    "holdfast_sweep_pass_age_seconds",
  ]

  # Series that would hide the others behind a greatest value: what takes long by its
  # nature, and migrations that have not stopped.
  dropped = [
    "holdfast_jobs_oldest_seconds;.*(migration_run|migration_scrub).*",
    "holdfast_sweep_pass_age_seconds;.*(checkpoints|objects).*",
    "holdfast_migration_open;[^;]*;(|[^s].*|s[^t].*)",
  ]

  collector = { for name, server in local.servers : name => yamlencode({
    receivers = {
      prometheus = {
        config = {
          scrape_configs = [{
            job_name        = name
            scrape_interval = "30s"
            static_configs  = [{ targets = ["127.0.0.1:${server.metrics_port}"] }]
            metric_relabel_configs = [
              { source_labels = ["__name__"], regex = join("|", local.kept), action = "keep" },
              { source_labels = ["__name__", "kind", "state"], regex = join("|", local.dropped), action = "drop" },
            ]
          }]
        }
      }
    }
    processors = {
      # Of all kinds of jobs together, a state each.
      metricstransform = {
        transforms = [{
          include    = "holdfast_jobs_depth"
          action     = "update"
          operations = [{ action = "aggregate_labels", label_set = ["state"], aggregation_type = "sum" }]
        }]
      }
    }
    exporters = {
      awsemf = {
        region                  = var.region
        namespace               = var.metrics_namespace
        log_group_name          = local.logging["metrics"].options["awslogs-group"]
        log_stream_name         = "{TaskId}"
        dimension_rollup_option = "NoDimensionRollup"
        metric_declarations = [
          { dimensions = [["state"]], metric_name_selectors = ["^holdfast_jobs_depth$"] },
          { dimensions = [[]], metric_name_selectors = [for kept in local.kept : "^${kept}$" if kept != "holdfast_jobs_depth"] },
        ]
      }
    }
    service = {
      pipelines = {
        metrics = { receivers = ["prometheus"], processors = ["metricstransform"], exporters = ["awsemf"] }
      }
    }
  }) }
}
