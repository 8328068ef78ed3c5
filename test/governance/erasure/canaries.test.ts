// Process: own. Puts the temporary files of the process into another folder.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { openRequest, addEntry } from '../../../src/governance/subject-requests/subject-requests.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { placeHold, releaseHold } from '../../../src/governance/legal-holds/holds.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { releaseStartCode } from '../../../src/sittings/invitations/start-code.ts';
import { invitationRuns } from '../../../src/sittings/invitations/runs/run.ts';
import { changeEmail } from '../../../src/sittings/invitations/contact.ts';
import { changeReference } from '../../../src/records/learners/reference.ts';
import { correctName } from '../../../src/records/learners/rename.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { byteReaders } from '../../../src/governance/redaction/redaction.ts';
import { confirmResult, withdrawReviewed } from '../../../src/governance/result-reviews/decide.ts';
import { askForReview } from '../../../src/governance/result-reviews/request.ts';
import { cancelInvitation } from '../../../src/governance/erasure/cancel-invitation.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { personOf } from '../../web/console/visitor.ts';
import { Mirror, Shown } from '../../laws/world/mirror.ts';
import { withService } from '../../support/service.ts';
import { SimulatedLearner } from '../../sittings/learner.ts';

/**
 * One person, written down in every way that there is, erased: nothing of them stands in a table, in a log, or in a file.
 * What was planted has a word of its own for each place, so that a failure says where it came from.
 */

const folder = mkdtempSync(join(tmpdir(), 'ars-canaries-'));
const temporary = process.env.TMPDIR;
process.env.TMPDIR = folder;
after(() => {
  if (temporary === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = temporary;
  rmSync(folder, { recursive: true });
});
const service = await withService({
  own: 'Keeps a list of erasures.',
  settings: {
    ARS_RATE_LIMIT: '1000000',
    ARS_LOG: 'all',
    ARS_ERASURES_FILE: join(folder, 'erasures'),
    ARS_SMTP_URL: 'smtp://127.0.0.1:1',
    ARS_MAIL_FROM: 'Results <results@college.example>',
  },
});
const { app } = service;
const org = await service.organisation({ plan: 'standard', credits: 50, name: 'Northfield' });
const owner = await personOf(service, org.id, 'owner');
const admin = await personOf(service, org.id, 'admin');
const base = `/console/${org.publicId}`;
const inFeed = <T>(inside: Parameters<typeof withUnitOfWork<T>>[2]) => withUnitOfWork(app, feedQueue(org.id), inside);

/** What must be gone; what a table begins to hold is written into it by this. */
const canaries = ['zebediah', 'quagmire', 'wildgoose', 'zq-4471', 'zq-0001', 'zq-9999'];
function plant(where: string): string {
  const word = `plover${where}`;
  canaries.push(word);
  return `${word} of Zebediah`;
}

/** Every row of every table as text, sealed columns opened, bytes as text as well; and there are no large objects. */
async function dump(): Promise<Map<string, string>> {
  const readers = byteReaders(app.secrets);
  const tables = await app.db.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relkind in ('r', 'm') order by 1`,
  );
  const found = new Map<string, string>();
  for (const { name } of tables) {
    const rows = await app.db.query<Record<string, unknown> & { whole: string }>(
      `select t.*, t::text as whole from "${name}" t`,
    );
    const texts = rows.flatMap(({ whole, ...row }) => [
      whole,
      ...Object.entries(row).flatMap(([column, value]) =>
        Buffer.isBuffer(value) ? [value.toString('latin1'), readers[`${name}.${column}`]?.(value) ?? ''] : [],
      ),
    ]);
    found.set(name, texts.join('\n').toLowerCase());
  }
  const [objects] = await app.db.query<{ count: number }>('select count(*) as count from pg_largeobject_metadata');
  assert.equal(objects!.count, 0);
  return found;
}

/** `table: canary` for each that stands there. */
const holding = (dumped: Map<string, string>): string[] =>
  [...dumped].flatMap(([name, text]) => canaries.filter((one) => text.includes(one)).map((one) => `${name}: ${one}`));

const line = (ref: string | null, name: string, subject = 'maths') => ({
  assessment_id: app.random.uuid(),
  learner: { ref, full_name: name },
  assessed_at: '2026-01-10T09:00:00Z',
  subject,
  framework: 'F',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
  is_borderline: true,
});
async function imports(...lines: ReturnType<typeof line>[]): Promise<string[]> {
  const records = lines.map((one) => readyRecord(one, org.publicId, app.clock.nowMs()));
  await inFeed((work) => importRecords(work, org.id, records, { events: true, actor: 'operator' }));
  return lines.map((one) => one.assessment_id);
}
async function pastes(rows: string[], more: Record<string, string> = {}): Promise<string> {
  const once = app.random.uuid();
  const answer = await owner.post(`${base}/invite`, { rows: rows.join('\n'), once, ...more });
  assert.equal(answer.status, 303, answer.text);
  return `${base}/invite/${once}`;
}

suite('a person who is erased', () => {
  test('stands nowhere: in no table, no sealed column, no log, no file; and every mirror converges', async () => {
    await org.post('/webhooks', { url: 'https://receiver.example/hook' });
    const cohort = (await org.post('/groups', { type: 'cohort', ref: 'C1', name: 'Cohort' })).body.data.id as string;
    const bounded = await org.another({ groupIds: [cohort], subjects: ['maths', 'digital'] });
    const follow = (query: string, more: { path?: '/learners'; bounds?: string } = {}) =>
      new Mirror([more.bounds === undefined ? org : bounded], seededRandom(query), new Shown(), {
        path: '/assessments',
        limit: 2,
        manner: 'follow',
        query,
        ...more,
      });
    const bounds = `group_id=${cohort}&subject=maths,digital`;
    const mirrors = [
      follow(''),
      ...['zq-4471', 'zq-0001', 'zq-9999'].map((ref) => follow(`learner_ref=${ref}`)),
      follow(`group_id=${cohort}`),
      follow('', { path: '/learners' }),
      follow('', { bounds }),
      follow('below_level_1=true', { bounds }),
    ];

    // Asked for before there is one, and put into a group.
    const early = { learner_refs: ['zq-4471'] };
    await org.get('/learners/zq-4471');
    await org.get('/assessments?learner_ref=zq-4471');
    await org.post(`/groups/${cohort}/members`, early, { 'idempotency-key': 'early zq-4471' });

    // Invited from a pasted table, with a mail that waits, and a code.
    const head = 'ref\tname\temail\tgroups\tsubjects\tsupervision\tsupervisor\tretake reason\tstart code';
    const run = await pastes([
      head,
      `zq-4471\tZebediah Quagmire\tzebediah@quagmire.example\tcohort: C1\tdigital\t${plant('supervision')}\t${plant('supervisor')}\t${plant('retake')}\tyes`,
      'other-1\tOther Person\tother@x.example\t\tdigital\t\t\t\t',
    ]);
    assert.equal((await owner.post(`${run}/start`, { mail: 'on' })).status, 303);
    await invitationRuns.run(app);
    const [handed] = /http[^\s"<]+\/a\/[\w.-]+/.exec((await owner.get(`${run}/links`)).text)!;
    await owner.get(`${run}/links.tsv`);
    const token = new URL(handed).pathname.slice('/a/'.length);
    const { learner_id: id } = (await org.get('/learners/zq-4471')).body.data;
    const [invitation] = await app.db.query<{ invitation_id: string }>(
      'select invitation_id from invitation where learner_id = $1',
      [id],
    );
    await service.withUnitOfWork((work) => releaseStartCode(work, org.id, invitation!.invitation_id, owner.userId));
    await app.db.query('update invitation set start_code = false where organisation_id = $1', [org.id]);

    // A sitting with typed answers, a representation, an answer to it; and one under way.
    const sitter = new SimulatedLearner(service, token, 'zq-4471', -1);
    const sitting = await sitter.sits();
    await service.withUnitOfWork((work) => askForReview(work, sitting, plant('representation')));
    const decision = { actor: owner.userId, version: null };
    const kept = { reason: plant('note'), answer: plant('answer') };
    assert.equal(
      await inFeed((work) => confirmResult(work, org.id, sitting.assessment_id!, { ...decision, ...kept })),
      null,
    );
    await app.db.query('update sitting_item set answer = $1 where answer is not null', [
      `{"answer":"${plant('typed')}"}`,
    ]);
    await inFeed((work) =>
      changeReference(work, org.id, { ref: 'zq-4471' }, 'zq-0001', { actor: 'operator', reason: plant('referenced') }),
    );

    // Results from elsewhere: amended, withdrawn, under another reference that turns out to be the same person.
    const [amended, withdrawn] = await imports(
      line('zq-4471', 'Zebediah Quagmire'),
      line('zq-4471', 'Zebediah Quagmire', 'english'),
    );
    const [merged] = await imports(line('zq-9999', 'Zeb Wildgoose'));
    const other = (await org.get('/learners/zq-9999')).body.data.learner_id;
    await inFeed((work) =>
      amendAssessment(work, org.id, amended!, { framework: 'G' }, { actor: 'operator', reason: plant('amended') }),
    );
    const gone = { ...decision, reason: plant('withdrawn'), answer: plant('told') };
    assert.equal(await inFeed((work) => withdrawReviewed(work, org.id, withdrawn!, gone)), null);
    await org.post(
      '/learners',
      { full_name: 'Zeb Wildgoose', ref: 'zq-9999', email: 'zeb@wildgoose.example' },
      { 'idempotency-key': 'once' },
    );
    await inFeed((work) =>
      mergeLearners(work, org.id, { from: other, into: id }, { actor: 'operator', reason: plant('merged') }),
    );
    await inFeed((work) =>
      correctName(work, org.id, { ref: 'zq-0001' }, 'Zebediah F. Quagmire', {
        actor: 'operator',
        reason: plant('renamed'),
      }),
    );
    await inFeed((work) =>
      changeEmail(work, org.id, { ref: 'zq-0001' }, 'z@quagmire.example', {
        actor: 'operator',
        reason: plant('contacted'),
      }),
    );
    for (const result of [sitting.assessment_id, amended, merged]) await org.get(`/assessments/${result}/report.pdf`);

    // Another invitation that is taken back, a hold that has ended, a case, kept replies of every kind.
    const again = await org.post(
      '/learners',
      { full_name: 'Zebediah F. Quagmire', ref: 'zq-4471' },
      { 'idempotency-key': 'again' },
    );
    const lost = { actor: 'operator', reason: plant('cancelled') };
    await inFeed((work) => cancelInvitation(work, org.id, again.body.data.invitation_id, lost));
    const hold = { holdId: app.random.uuid(), learnerId: id, reason: plant('hold'), endsAt: null, actor: 'operator' };
    await inFeed((work) => placeHold(work, org.id, hold));
    await inFeed((work) => releaseHold(work, org.id, hold.holdId, { actor: 'operator' }));
    const caseId = app.random.uuid();
    await inFeed(async (work) => {
      const asked = {
        kind: 'erasure',
        learnerId: id,
        about: plant('about'),
        note: plant('opened'),
        actor: 'x',
      } as const;
      await openRequest(work, org.id, { ...asked, caseId, receivedAt: new Date(work.nowMs) });
      await addEntry(work, org.id, caseId, { kind: 'note', text: plant('step'), actor: 'x' });
    });
    for (const ref of ['zq-4471', 'zq-9999', 'zq-0001'])
      for (const way of ['members', 'members/remove', 'members'])
        await org.post(
          `/groups/${cohort}/${way}`,
          { learner_refs: [ref] },
          { 'idempotency-key': `${way} ${ref} ${app.random.uuid()}` },
        );

    // Tables that wait: by the reference, by the name alone, by the address, with faults.
    await pastes([
      head,
      'zq-9999\tZeb Wildgoose\t\t\t\t\t\t\t',
      '\tzebediah f. quagmire\t\t\t\t\t\t\t',
      'has a blank\tZebediah F. Quagmire\t\t\t\t\t\t\t',
      'typed-wrong\tZ\tZ@Quagmire.example\t\t\t\t\t\t',
      'other-2\tOther Person\t\t\t\t\t\t\t',
    ]);
    const columns =
      'learner_ref,learner_full_name,assessed_at,subject,framework,rqf_level,rqf_level_code,below_level_1';
    const waits = [',Zebediah F. Quagmire', 'zq-9999,Zeb Wildgoose', 'other-3,Other Person'];
    const rows = waits.map((one) => `${one},2026-01-31T09:00:00Z,maths,F,Level 1,2,false`);
    const tried = { rows: [columns, ...rows].join('\n'), once: app.random.uuid() };
    assert.equal((await owner.post(`${base}/results/import`, tried)).status, 303);

    // Looked at, looked for and taken away by people; every mirror has them.
    const here = `${base}/learners/${id}`;
    for (const path of ['', '/erase', '/lookups', '/export']) assert.equal((await admin.get(here + path)).status, 200);
    await admin.post(`${base}/learners`, { wanted: 'quagmire' });
    await admin.post(`${base}/search`, { reference: 'zq-4471' });
    await admin.post(`${here}/export`);
    for (const format of ['csv', 'xlsx'])
      assert.equal((await admin.post(`${base}/results/export`, { format })).status, 200);
    await admin.post(`${base}/groups/${cohort}/add`, { references: 'zq-4471\nZebediah Quagmire' });
    for (const mirror of mirrors) await mirror.poll();
    const before = await dump();
    const planted = canaries.filter((one) => ![...before.values()].some((text) => text.includes(one)));
    assert.deepEqual(planted, [], 'every canary was somewhere');

    assert.equal((await owner.post(`${here}/erase`)).headers.location, `${here}/erased`);
    assert.deepEqual(holding(await dump()), []);
    const logged = service.logged.join('').toLowerCase();
    assert.ok(logged.includes('/learners'), 'requests are logged');
    assert.deepEqual(
      canaries.filter((one) => logged.includes(one)),
      [],
    );
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    assert.deepEqual(
      files.map((one) => one.name),
      ['erasures'],
    );
    for (const one of files) {
      const text = readFileSync(join(one.parentPath, one.name), 'latin1').toLowerCase();
      assert.deepEqual(
        canaries.filter((word) => text.includes(word)),
        [],
        one.name,
      );
    }
    assert.deepEqual(
      await app.db.query('select from evidence where organisation_id = $1 and pdf is not null', [org.id]),
      [],
    );
    for (const mirror of mirrors) {
      await mirror.assertConverged();
      const held = [...mirror.held.values()].join('').toLowerCase();
      assert.deepEqual(
        canaries.filter((one) => held.includes(one)),
        [],
        mirror.name,
      );
    }
    const closed = await (await fetch(handed)).text();
    assert.match(closed, /Nothing is kept here any more/);
    assert.doesNotMatch(closed, /withdr/, 'nobody has withdrawn it');
    for (const ref of ['zq-4471', 'zq-0001', 'zq-9999']) assert.equal((await org.get(`/learners/${ref}`)).status, 404);
    const left = [...(await dump()).values()].join('\n');
    for (const word of ['other-1', 'other-2', 'other-3']) assert.ok(left.includes(word), `${word} is somebody else's`);
    assert.equal(await inFeed((work) => eraseLearner(work, org.id, id, { actor: 'x' })), null, 'once');
  });
});
