# Makes a bucket in a real S3 server, and takes it away again. Where that is, and with
# which keys, is said by AWS_ENDPOINT_URL_S3 and the like (check.sh).

provider "aws" {
  s3_use_path_style           = true
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true
}

variables {
  bucket = "holdfast-terraform-bodies"
}

run "a_bucket_is_made_with_its_rules" {
  assert {
    condition     = aws_s3_bucket.this.id == "holdfast-terraform-bodies" && output.bucket == aws_s3_bucket.this.id
    error_message = "The bucket isn't the one that was asked for."
  }

  assert {
    condition     = [for rule in aws_s3_bucket_lifecycle_configuration.this[0].rule : rule.id if rule.status == "Enabled"] == ["abort-incomplete-uploads"]
    error_message = "The rules aren't those that were asked for."
  }
}

run "what_was_made_is_what_was_planned" {
  command = plan

  assert {
    condition     = aws_s3_bucket.this.id == "holdfast-terraform-bodies" && aws_s3_bucket_lifecycle_configuration.this[0].bucket == aws_s3_bucket.this.id
    error_message = "A second plan would make another bucket."
  }
}
