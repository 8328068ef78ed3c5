// Prints the level and the learner reference of 10 results.
//   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… node first.ts
const { API, ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '' } = process.env;
const response = await fetch(`${API}/assessments?limit=10&status=completed`, {
  headers: { 'X-Access-Key-Id': ACCESS_KEY_ID, 'X-Secret-Access-Key': SECRET_ACCESS_KEY },
  // The access key must not follow a redirect to another host.
  redirect: 'error',
});
if (!response.ok) throw new Error(await response.text());

type Result = { learner: { ref: string | null }; rqf_level: string | null };
const { data } = (await response.json()) as { data: Result[] };
for (const result of data) console.log(result.rqf_level ?? '-', result.learner.ref ?? '-');
