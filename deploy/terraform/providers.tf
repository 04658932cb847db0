provider "aws" {
  region = var.region

  default_tags {
    tags = {
      Application = "holdfast"
      Environment = var.environment
    }
  }
}

# R2 speaks S3. It knows neither accounts nor regions of AWS's, nor tags.
provider "aws" {
  alias      = "bodies"
  region     = "auto"
  access_key = var.bodies_admin_key_id
  secret_key = var.bodies_admin_secret

  s3_use_path_style           = true
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true

  endpoints {
    s3 = var.bodies_endpoint
  }
}
