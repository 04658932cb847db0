environment = "production"
region      = "eu-central-1"
image       = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/holdfast"

domain          = "api.example.com"
certificate_arn = "arn:aws:acm:eu-central-1:123456789012:certificate/00000000-0000-4000-8000-000000000002"
bodies_endpoint = "https://0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com"
alarm_topic_arn = "arn:aws:sns:eu-central-1:123456789012:holdfast-production"

zones       = 3
multi_az    = true
backup_days = 35
log_days    = 400

# The control tables have a server of their own, so that jobs and tokens don't wait for
# the domain's writes. More data databases are more lines; numbers that already serve
# are moved first (docs/fleet.md).
databases = {
  control = { instance_class = "db.m7g.large", storage_gb = 50, max_storage_gb = 500 }
  data1   = { instance_class = "db.m7g.2xlarge", storage_gb = 200, max_storage_gb = 2000, numbers = "0-31" }
  data2   = { instance_class = "db.m7g.2xlarge", storage_gb = 200, max_storage_gb = 2000, numbers = "32-63" }
}
control_database = "control"

api    = { cpu = 2048, memory = 4096, least = 3, most = 12, requests_per_minute = 60000 }
worker = { cpu = 1024, memory = 2048, least = 2, most = 6, jobs_due = 20 }
