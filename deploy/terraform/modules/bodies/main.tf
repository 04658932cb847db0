# The bucket for bodies of storage format 2.
#
# No rule of its lifecycle may delete an object: a body that is gone is gone, and only
# the database knows which ones are still referred to. Holdfast reads the live rules
# before it moves anything here, and refuses while one of them could. What may end by
# itself are uploads that nobody completed.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}

resource "aws_s3_bucket" "this" {
  bucket        = var.bucket
  force_destroy = false # a bucket that has bodies can't be destroyed
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count = var.lifecycle_rules ? 1 : 0

  bucket = aws_s3_bucket.this.id

  # AWS alone has such a size. Without this the provider waits for the store to name it.
  transition_default_minimum_object_size = ""

  rule {
    id     = "abort-incomplete-uploads"
    status = "Enabled"

    filter {
      prefix = ""
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = var.abort_uploads_after_days
    }
  }
}
