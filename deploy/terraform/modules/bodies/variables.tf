variable "bucket" {
  type = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits and -."
  }
}

variable "lifecycle_rules" {
  type        = bool
  default     = true
  description = "Whether the store knows rules of a lifecycle. R2 and S3 do."
}

variable "abort_uploads_after_days" {
  type    = number
  default = 7
}
