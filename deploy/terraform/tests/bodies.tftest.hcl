mock_provider "aws" {
  source = "./tests/mocks"
}

run "no_rule_deletes_a_body" {
  module {
    source = "./modules/bodies"
  }
  variables {
    bucket = "holdfast-test-bodies"
  }

  assert {
    condition     = aws_s3_bucket.this.force_destroy == false
    error_message = "A bucket with bodies can be destroyed."
  }

  assert {
    condition = alltrue([
      for rule in aws_s3_bucket_lifecycle_configuration.this[0].rule :
      length(rule.expiration) == 0 && length(rule.transition) == 0 && length(rule.noncurrent_version_expiration) == 0 && length(rule.noncurrent_version_transition) == 0
    ])
    error_message = "A rule deletes or moves bodies."
  }

  assert {
    condition     = [for rule in aws_s3_bucket_lifecycle_configuration.this[0].rule : rule.abort_incomplete_multipart_upload[0].days_after_initiation] == [7]
    error_message = "Uploads that nobody completed stay for ever, or there is another rule."
  }
}
