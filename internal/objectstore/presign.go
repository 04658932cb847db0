package objectstore

import (
	"context"
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// longestLife is how long a presigned URL may be good for (AWS Signature
// Version 4).
const longestLife = 7 * 24 * time.Hour

// Presign makes a URL by which anybody can GET the object at key for as long as
// life: a second to seven days. It comes as an attachment named filename, of no
// particular type, so that no browser runs what a body holds. Nothing is asked of
// the store: whether the object is there, and right, the reader sees.
func (b *Bucket) Presign(ctx context.Context, key, filename string, life time.Duration) (string, error) {
	if life < time.Second || life > longestLife {
		return "", fmt.Errorf("presign: a life of %s is not from a second to seven days", life)
	}
	request, err := b.presigner.PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket:                     &b.name,
		Key:                        &key,
		ResponseContentDisposition: aws.String(attachment(filename)),
		ResponseContentType:        aws.String(contentType),
	}, s3.WithPresignExpires(life))
	if err != nil {
		return "", fmt.Errorf("presign: %w", err)
	}
	return request.URL, nil
}

// attachment is a Content-Disposition (RFC 6266). What isn't plain ASCII is
// encoded as RFC 8187 has it, control characters too; a path's separators are
// replaced, since not every client drops the path.
func attachment(filename string) string {
	filename = strings.NewReplacer("/", "_", `\`, "_").Replace(strings.ToValidUTF8(filename, "_"))
	if filename == "" {
		return "attachment"
	}
	return mime.FormatMediaType("attachment", map[string]string{"filename": filename})
}
