import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { amendAssessment, readAmendment } from '../../../src/records/results/amend.ts';
import { findReviews, forgetReasonsBefore } from '../../../src/records/results/results.ts';
import { historyOf } from '../../../src/records/results/lists/history.ts';
import type { Amendment } from '../../../src/records/results/result-fields.ts';
import { RecordRefused } from '../../../src/records/results/result-fields.ts';
import type { ImportCounts, ImportOptions } from '../../../src/records/import/file.ts';
import { importFile } from '../../../src/records/import/file.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { withService } from '../../support/service.ts';

/** What an import does to results that are there already (decision 0024). */
suite('results that are imported again', async () => {
  const service = await withService();
  const org = await service.organisation();
  const { app, withUnitOfWork } = service;
  let count = 0;

  const record = (more: Record<string, unknown> = {}) => ({
    assessment_id: app.random.uuid(),
    learner: { ref: `A-${++count}`, full_name: `Learner ${count}` },
    assessed_at: '2026-01-31T09:00:00.000Z',
    subject: 'maths',
    framework: 'F',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
    ...more,
  });

  const refused: string[] = [];
  const run = (text: string, options: Partial<ImportOptions> = {}): Promise<ImportCounts> =>
    importFile(app, Readable.from([Buffer.from(text)]), {
      organisationId: org.id,
      organisationPublicId: org.publicId,
      events: false,
      actor: 'operator',
      format: 'ndjson',
      onRejected: ({ faults }) => void refused.push(...faults.map((fault) => fault.expected)),
      onProgress: () => {},
      ...options,
    });
  const outcome = ({ imported, updated, unchanged, rejected }: ImportCounts) =>
    Object.entries({ imported, updated, unchanged, rejected })
      .filter(([, number]) => number > 0)
      .map(([name, number]) => `${number} ${name}`)
      .join();

  /** Tried first, which has to say what is done then. */
  async function imports(lines: unknown[] | string, options: Partial<ImportOptions> = {}): Promise<string> {
    const text = typeof lines === 'string' ? lines : lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const dry = outcome(await run(text, { ...options, dryRun: true }));
    refused.length = 0;
    const real = outcome(await run(text, options));
    assert.equal(dry, real);
    return real;
  }

  const amends = (id: string, amendment: Amendment) =>
    withUnitOfWork((work) => amendAssessment(work, org.id, id, amendment, { actor: 'ana', reason: 'Reviewed' }));
  const shown = async (id: string) => (await org.get(`/assessments/${id}`)).body.data;
  const changes = async (id: string) => (await historyOf(app.db, org.id, id))!.map(({ actor }) => actor);
  const reviews = async (id: string) =>
    (await findReviews(app.db, org.id, id)).map(({ outcome }) => outcome ?? 'waits');

  test('a record that says what was imported last changes nothing, whatever was amended since', async () => {
    const one = record({ needs_review: true, working_level: 'Level 1' });
    const id = one.assessment_id;
    assert.equal(await imports([one]), '1 imported');
    await amends(id, { needs_review: false });
    await amends(id, { working_level: 'Level 2' });
    const before = await shown(id);
    assert.equal(await imports([one]), '1 unchanged');
    assert.deepEqual(await shown(id), before);
    assert.deepEqual([await changes(id), await reviews(id)], [['ana', 'ana'], []]);

    const corrected = { ...one, framework: 'G' };
    assert.equal(await imports([corrected]), '1 updated');
    const { framework, needs_review, working_level } = await shown(id);
    assert.deepEqual([framework, needs_review, working_level], ['G', true, 'Level 1']);
    assert.equal(await imports([corrected]), '1 unchanged');
    await amends(id, { working_level: 'Level 2' });
    assert.equal(await imports([corrected]), '1 unchanged');
    assert.equal((await shown(id)).working_level, 'Level 2');
    assert.equal(await imports([one]), '1 updated', 'what was imported before is imported back');
    assert.equal((await shown(id)).framework, 'F');
  });

  test('what a record says is what was imported last, also where somebody had set it before', async () => {
    const one = record({ working_level: 'First' });
    const says = (working_level: string) => imports([{ ...one, working_level }]);
    const shown = async () =>
      ((await org.get(`/assessments/${one.assessment_id}`)).body as { data: { working_level: string } }).data
        .working_level;
    await says('First');
    await amends(one.assessment_id, { working_level: 'Second' });
    const before = await org.get(`/assessments/${one.assessment_id}`);
    assert.equal(await says('Second'), '1 unchanged');
    assert.equal((await org.get(`/assessments/${one.assessment_id}`)).text, before.text);
    const history = (await historyOf(app.db, org.id, one.assessment_id))!;
    assert.deepEqual(
      history.map(({ reason }) => reason),
      ['Reviewed'],
    );
    await amends(one.assessment_id, { working_level: 'Third' });
    assert.equal(await says('Second'), '1 unchanged');
    assert.equal(await shown(), 'Third');
    await amends(one.assessment_id, { working_level: 'Fourth' });
    assert.equal(await says('Fourth'), '1 unchanged');
    assert.equal(await says('Second'), '1 updated');
    assert.equal(await shown(), 'Second');
  });

  test('what is there is compared with no longer, once what was imported is forgotten', async () => {
    const one = record();
    const id = one.assessment_id;
    await imports([one]);
    await amends(id, { working_level: 'Level 2' });
    const [row] = await app.db.query<{ learner_id: string }>(
      'select learner_id from assessment where organisation_id = $1 and assessment_id = $2',
      [org.id, id],
    );
    const later = new Date(app.clock.nowMs() + 60_000);
    await withUnitOfWork((work) => forgetReasonsBefore(work.tx, org.id, row!.learner_id, later));
    assert.equal(await imports([{ ...one, working_level: 'Level 1' }]), '1 rejected');
    assert.match(refused.join(), /it was changed since, and what was imported before is no longer kept/);
    assert.equal(await imports([{ ...one, working_level: 'Level 2' }]), '1 unchanged');
    assert.equal(await imports([one]), '1 unchanged', 'it says nothing of the level');
    assert.equal((await shown(id)).working_level, 'Level 2');
  });

  test('fields that a record leaves out, and columns that a file does not have, stay; what is empty goes', async () => {
    const whole = record({
      domains: [{ name: 'Punctuation', score_pct: 70, status: 'secure' }],
      level_probabilities: { 'Level 1': 0.9, 'Level 2': 0.1 },
      needs_review: true,
      working_level: 'Level 1',
    });
    const id = whole.assessment_id;
    await imports([whole]);
    const content = async () => {
      const { framework, domains, level_probabilities, needs_review, working_level } = await shown(id);
      return [framework, domains.length, level_probabilities !== null, needs_review, working_level];
    };
    const head = 'assessment_id,learner_ref,learner_full_name,assessed_at,subject,framework,rqf_level,rqf_level_code';
    const csv = (framework: string) =>
      `${head},below_level_1\n${id},${whole.learner.ref},${whole.learner.full_name},${whole.assessed_at},maths,${framework},Level 1,2,false\n`;
    assert.equal(await imports(csv('F'), { format: 'csv' }), '1 unchanged');
    assert.equal(await imports(csv('G'), { format: 'csv' }), '1 updated');
    assert.deepEqual([await content(), await reviews(id)], [['G', 1, true, true, 'Level 1'], ['waits']]);
    assert.equal(await imports([{ ...whole, domains: undefined, framework: 'H' }]), '1 updated');
    assert.deepEqual(await content(), ['H', 1, true, true, 'Level 1']);
    const emptied = csv('H').replace('below_level_1\n', 'below_level_1,needs_review,domains,level_probabilities\n');
    assert.equal(await imports(emptied.replace('false\n', 'false,,,\n'), { format: 'csv' }), '1 updated');
    assert.deepEqual([await content(), await reviews(id)], [['H', 0, false, false, 'Level 1'], []]);
  });

  test('a line of the API is a record as it stands, and a result that was assessed here is changed by none', async () => {
    const group = { type: 'cohort', ref: 'api', name: 'Of the API' };
    const one = record({ groups: [group], is_borderline: true });
    await imports([one]);
    const line = await shown(one.assessment_id);
    assert.ok(line.learner.learner_id !== undefined && line.groups[0].id !== undefined);
    assert.equal(await imports([{ ...line, reviewed_at: line.updated_at }]), '1 unchanged');
    const other = await service.organisation();
    assert.equal(
      await imports([line], { organisationId: other.id, organisationPublicId: other.publicId }),
      '1 imported',
      'elsewhere, too',
    );
    assert.equal((await other.get('/assessments')).body.data[0].groups[0].ref, 'api');
    assert.equal(await imports([{ ...line, status: 'deleted' }]), '1 rejected');
    assert.equal(await imports([{ ...line, evidence_pack_url: 'https://x/AB123456C' }]), '1 rejected');

    const two = record();
    const id = two.assessment_id;
    await imports([two]);
    await app.db.query("update assessment set source = 'sitting' where assessment_id = $1", [id]);
    await amends(id, { working_level: 'Level 1' });
    const sat = await shown(id);
    assert.equal(await imports([sat]), '1 unchanged');
    assert.equal(await imports([{ ...sat, framework: 'Another' }]), '1 rejected');
    assert.match(refused.join(), /it was assessed here/);
    assert.deepEqual(await shown(id), sat);
  });

  test('a team of a line is passed over only where it is no more than a team', async () => {
    const team = { type: 'team', id: app.random.uuid(), ref: 'T', name: 'Team' };
    const line = (more: object) => record({ groups: [{ ...team, ...more }] });
    assert.equal(await imports([line({})]), '1 imported');
    assert.equal(await imports([line({ name: 'AB 12 34 56 C' }), line({ other: 'x' })]), '2 rejected');
  });

  test('nobody is put back into a group that they were taken out of, unless by a new result; webhooks are told if asked', async () => {
    const group = { type: 'cohort', ref: 'left', name: 'To be left' };
    const more = { type: 'cohort', ref: 'more', name: 'One more' };
    const one = record({ groups: [group] });
    const { ref } = one.learner;
    const told = async () =>
      (
        await app.db.query<{ added: string }>(
          `select payload::json ->> 'added' as added from event
            where organisation_id = $1 and type = 'learner.groups.updated' and payload::json ->> 'learner_ref' = $2
              and payload::json ->> 'added' <> '[]' order by number`,
          [org.id, ref],
        )
      ).map((row) => JSON.parse(row.added) as string[]);
    await org.post('/webhooks', {
      url: 'https://example.com/hook',
      event_types: ['assessment.completed', 'learner.groups.updated'],
      group_ids: [],
    });
    await imports([one], { events: true });
    const groups = async () => (await shown(one.assessment_id)).groups.map((of: { ref: string }) => of.ref);
    const [{ id: groupId }] = (await shown(one.assessment_id)).groups;
    assert.equal((await org.post(`/groups/${groupId}/members/remove`, { learner_refs: [ref] })).status, 200);
    assert.equal(await imports([one], { events: true }), '1 unchanged');
    assert.deepEqual([await groups(), await told()], [[], []]);

    assert.equal(await imports([{ ...one, groups: [group, more] }], { events: true }), '1 updated');
    assert.deepEqual(await groups(), ['more'], 'one that they never were in');
    const moreId = (await shown(one.assessment_id)).groups[0].id;
    assert.deepEqual(await told(), [[moreId]]);
    const newer = { ...record({ groups: [group] }), learner: one.learner };
    // Twice, so that the line comes in a second turn of its batch.
    assert.equal(await imports([one, newer, newer], { events: true }), '1 imported,1 updated,1 unchanged');
    assert.deepEqual(
      [await groups(), await told()],
      [
        ['left', 'more'],
        [[moreId], [groupId]],
      ],
    );
    const silent = { ...record({ groups: [{ ...more, ref: 'silent' }] }), learner: one.learner };
    await imports([silent]);
    assert.equal((await told()).length, 2);
  });

  test('nobody is put back into a group that somebody was taken out of who was merged into them', async () => {
    const group = { type: 'cohort', ref: 'merged', name: 'Left before the merge' };
    const learner = { ref: 'M-1', full_name: 'Mo Merged' };
    const [line, kept] = [record({ learner, groups: [group] }), record({ learner: { ...learner, ref: 'M-2' } })];
    await imports([line, kept]);
    const learners = "select learner_id from learner where ref in ('M-1', 'M-2') order by ref";
    const [from, into] = (await app.db.query<{ learner_id: string }>(learners)).map((row) => row.learner_id);
    const [{ id: groupId }] = (await shown(line.assessment_id)).groups;
    await org.post(`/groups/${groupId}/members/remove`, { learner_refs: ['M-1'] });
    await withUnitOfWork((work) =>
      mergeLearners(work, org.id, { from: from!, into: into! }, { actor: 'ana', reason: null }),
    );
    assert.equal(await imports([line]), '1 unchanged');
    assert.deepEqual((await shown(line.assessment_id)).groups, []);
    assert.equal(await imports([record({ learner, groups: [group] })]), '1 imported');
    assert.equal((await shown(line.assessment_id)).groups.length, 1, 'a new result is not of before');
  });

  const others: Record<string, object> = {
    assessed_at: { assessed_at: '2026-01-30T09:00:00.000Z' },
    subject: { subject: 'digital' },
    rqf_level_code: { rqf_level: 'Level 2', rqf_level_code: 3 },
    below_level_1: { rqf_level: 'Entry Level', rqf_level_code: 1, below_level_1: true },
  };
  for (const [field, other] of Object.entries(others)) {
    test(`${field} stays as it is once the result is there: neither an amendment nor a record changes it`, async () => {
      const first = record();
      assert.equal(await imports([first]), '1 imported');
      const before = (await org.get(`/assessments/${first.assessment_id}`)).text;
      assert.throws(() => readAmendment({ [field]: (other as Record<string, unknown>)[field] }), RecordRefused);
      assert.equal(await imports([{ ...first, ...other }]), '1 rejected');
      assert.match(refused.join(), /cannot be amended/);
      assert.equal((await org.get(`/assessments/${first.assessment_id}`)).text, before);
    });
  }
});
