environment = "staging"
region      = "eu-central-1"
image       = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/holdfast"

domain          = "api.staging.example.com"
certificate_arn = "arn:aws:acm:eu-central-1:123456789012:certificate/00000000-0000-4000-8000-000000000001"
bodies_endpoint = "https://0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com"
alarm_topic_arn = ""

zones       = 2
multi_az    = false
backup_days = 7
log_days    = 30

databases = {
  main = { instance_class = "db.m7g.large", storage_gb = 50, max_storage_gb = 200, numbers = "0-63" }
}
control_database = "main"

api    = { cpu = 1024, memory = 2048, least = 1, most = 4, requests_per_minute = 30000 }
worker = { cpu = 1024, memory = 2048, least = 1, most = 3, jobs_due = 20 }
