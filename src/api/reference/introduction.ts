export const introduction = (
  rateLimit: number,
) => `Read the results of digital, English and maths skills assessments, and keep a local copy by incremental sync.

Every request needs 2 headers: \`X-Access-Key-Id\` and \`X-Secret-Access-Key\`. For an object of another organisation, the service returns 404, as for an object that does not exist.

**Sync.** For a full sync, read \`GET /assessments\` and follow \`pagination.next\` to the last page. Then store \`X-Sync-Through\`, and send its value as \`since\` in the next sync. If you request a URL again, send its last \`ETag\` in \`If-None-Match\`: 304 means that nothing has changed. Do not take \`since\` from your own clock.

**Queries.** A comma-separated list means OR. Different parameters mean AND. A repeated parameter means the same as a list. The service rejects unknown parameters. Date-times are RFC 3339 with a zone. Send \`+\` as \`%2B\`.

**Errors.** Every error has the form \`{"error": {"code", "message"}}\`. Your program acts on \`code\`. \`message\` is for people and can change. Every response contains \`X-Request-Id\`: quote this ID when you ask for help. If a URL does not have the requested method, the service returns 405 with \`Allow\`. HEAD works wherever GET works.

**Rate limit.** Each access key has ${rateLimit} requests in any 60 seconds. A 304 counts. Every response to a valid key shows in \`RateLimit\` how many requests are left.

**Compatibility.** New fields, endpoints and values of open enums can appear at any time. Ignore what your program does not know.`;
