# What is the same in all environments has a default here, or none. What differs is in
# environments/*.tfvars, and nothing else is different.

variable "environment" {
  type        = string
  description = "staging or production."

  validation {
    condition     = contains(["staging", "production"], var.environment)
    error_message = "The environment is staging or production."
  }
}

# --- What runs ---

variable "image" {
  type        = string
  description = "The image's repository, without tag or digest."

  validation {
    condition     = can(regex("^[a-z0-9.:/_-]+$", var.image)) && !can(regex("(@|:[^/]*$)", var.image))
    error_message = "The image is a repository's name: what runs of it is said by build."
  }
}

variable "build" {
  type        = string
  description = "The digest of the image that is rolled, sha256:…: a tag may be another image tomorrow."

  validation {
    condition     = can(regex("^sha256:[0-9a-f]{64}$", var.build))
    error_message = "The build is an image's digest: sha256: and 64 hexadecimal digits."
  }
}

# Merging is not deploying: a pipeline knows the build, and a person the review. This
# is given on the command line, and stands in no file.
variable "reviewed_build" {
  type        = string
  default     = ""
  description = "In production, the build that went through docs/release-checklist.md: the same digest again, from whoever reviewed it."

  validation {
    condition     = var.environment != "production" || var.reviewed_build == var.build
    error_message = "Production runs only what was reviewed: give reviewed_build, the digest that docs/release-checklist.md was gone through for. It must be the build's."
  }
}

variable "serve" {
  type        = bool
  default     = true
  description = "Whether the services have tasks. False at the first apply: nothing can serve before the schema is there."
}

# --- Where ---

variable "region" {
  type        = string
  description = "AWS's region of everything but the bodies."
}

variable "domain" {
  type        = string
  description = "The name that clients call, api.example.com: https://DOMAIN is the issuer that tokens name."

  validation {
    condition     = can(regex("^[a-z0-9-]+(\\.[a-z0-9-]+)+$", var.domain))
    error_message = "The domain is a host's name, without scheme, port and path."
  }
}

variable "certificate_arn" {
  type        = string
  description = "ACM's certificate for the domain, in the region."
}

variable "cidr" {
  type        = string
  default     = "10.40.0.0/16"
  description = "The network's addresses, a /16."
}

variable "zones" {
  type        = number
  description = "How many availability zones it spans."

  validation {
    condition     = var.zones >= 2 && var.zones <= 3
    error_message = "It spans 2 or 3 zones: a load balancer and a standby need two."
  }
}

# --- Databases ---

variable "databases" {
  type = map(object({
    instance_class = string
    storage_gb     = number
    max_storage_gb = number
    numbers        = optional(string)
  }))
  description = "The PostgreSQL servers, by the names that placements use, and which of the numbers 0 to 63 live on each (0-31,40). One without numbers has the control tables only."

  validation {
    condition     = alltrue([for name, _ in var.databases : can(regex("^[a-z][a-z0-9-]{0,30}$", name))])
    error_message = "A database's name has at most 31 lower-case letters, digits and -, and begins with a letter."
  }

  validation {
    condition = try(join(",", sort(flatten([
      for d in values(var.databases) : [
        for run in split(",", d.numbers) : [
          for n in range(tonumber(split("-", run)[0]), tonumber(reverse(split("-", run))[0]) + 1) : format("%02d", n)
        ]
      ] if d.numbers != null
    ]))) == join(",", [for n in range(64) : format("%02d", n)]), false)
    error_message = "Each of the numbers 0 to 63 lives on exactly one database."
  }
}

variable "control_database" {
  type        = string
  description = "Which of the databases has the control tables."

  validation {
    condition     = contains(keys(var.databases), var.control_database)
    error_message = "The control database is one of the databases."
  }
}

variable "multi_az" {
  type        = bool
  description = "Whether each database has a standby in another zone."
}

variable "backup_days" {
  type        = number
  description = "How far back a database can be restored to any point in time."

  validation {
    condition     = var.backup_days >= 7 && var.backup_days <= 35
    error_message = "Backups are kept for 7 to 35 days."
  }
}

# --- Services ---

variable "api" {
  type = object({
    cpu                 = number # of 1024 a core
    memory              = number # MiB
    least               = number # tasks
    most                = number
    requests_per_minute = number # a task, before another is added
  })
  description = "The API's tasks."

  validation {
    condition     = var.api.memory >= 2048 && var.api.least >= 1 && var.api.most >= var.api.least
    error_message = "The API needs 2048 MiB, since its own limit for Go's memory is 1 GiB, and at least one task."
  }
}

variable "worker" {
  type = object({
    cpu      = number
    memory   = number
    least    = number
    most     = number
    jobs_due = number # a task, before another is added
  })
  description = "The worker's tasks."

  validation {
    condition     = var.worker.memory >= 2048 && var.worker.least >= 1 && var.worker.most >= var.worker.least
    error_message = "A worker needs 2048 MiB, and there must be one: nothing is swept without it."
  }
}

variable "drain_seconds" {
  type        = number
  default     = 30
  description = "How long a stopping process lets requests or jobs under way end."

  validation {
    condition     = var.drain_seconds >= 5 && var.drain_seconds <= 100
    error_message = "A drain takes 5 to 100 seconds: Fargate ends a task after 120."
  }
}

variable "collector_image" {
  type        = string
  default     = "amazon/aws-otel-collector:v0.43.1"
  description = "What reads each task's metrics on its private port and hands them to CloudWatch."
}

variable "traces_endpoint" {
  type        = string
  default     = ""
  description = "Where traces go, an OTLP endpoint; empty for none."
}

# --- Bodies ---

variable "bodies_endpoint" {
  type        = string
  description = "R2's endpoint: https://ACCOUNT.r2.cloudflarestorage.com, or with .eu in it."

  validation {
    condition     = startswith(var.bodies_endpoint, "https://")
    error_message = "Bodies are reached by https only."
  }
}

# Of a token that may make buckets. The processes have another, which can read and
# write objects of this bucket only; it stands in the secret named bodies.
variable "bodies_admin_key_id" {
  type        = string
  ephemeral   = true
  sensitive   = true
  description = "The access key id by which Terraform makes the bucket."
}

variable "bodies_admin_secret" {
  type        = string
  ephemeral   = true
  sensitive   = true
  description = "Its secret."
}

# --- Who is told ---

variable "alarm_topic_arn" {
  type        = string
  default     = ""
  description = "The SNS topic that alarms go to; empty for none."
}

variable "log_days" {
  type        = number
  description = "How long logs are kept."
}
