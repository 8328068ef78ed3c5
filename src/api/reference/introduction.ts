export const introduction = (
  rateLimit: number,
) => `Results of digital, English and maths skills assessments, read by incremental polling.

Every request carries two headers: \`X-Access-Key-Id\` and \`X-Secret-Access-Key\`. Whatever belongs to another organisation does not exist: 404, never 403.

**Sync.** Walk \`GET /assessments\` by \`pagination.next\` to its end, then poll with \`since\` set to the \`X-Sync-Through\` of that walk. Send \`If-None-Match\` with the last \`ETag\`: 304 says that nothing has changed. Never use your own clock for \`since\`.

**Queries.** A comma-separated list means OR, different parameters mean AND, and a parameter given twice is the same as a list. Unknown parameters are refused. Date-times are RFC 3339 with a zone; \`+\` is sent as \`%2B\`.

**Errors.** Every response contains \`X-Request-Id\`: quote it when you ask for help. Every error has the shape \`{"error": {"code", "message"}}\`. Act on \`code\`; \`message\` is for people and may change. A method that an address does not have is answered by 405 with \`Allow\`. Wherever GET works, HEAD does too.

**Rate limit.** ${rateLimit} requests in any 60 seconds for each key; a 304 counts. After a valid key, every response says what is left in \`RateLimit\`.

**Compatibility.** New fields, endpoints and values of open enumerations may come at any time: ignore what you do not know.`;
