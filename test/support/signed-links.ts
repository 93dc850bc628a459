/** Links that contain a secret in each of the usual places. */
export function signedLinks(secret: string): string[] {
  return [
    `https://example.com/fox.png;sig=${secret}`,
    `https://example.com/${secret}/fox.png`,
    `https://example.com/fox.png?token=${secret}`,
    `https://example.com/fox.png#${secret}`,
    `https://me:${secret}@example.com/fox.png`,
    `ftp://u:${secret}@example.com/fox.png`,
    `s3://videos/fox.png?X-Amz-Signature=${secret}`,
    `  HTTPS://EXAMPLE.COM/fox.png?sig=${secret}`,
  ];
}
