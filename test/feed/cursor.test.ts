import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readCursor, writeCursor } from '../../src/feed/cursor.ts';
import { deriveSecrets } from '../../src/platform/crypto/secrets.ts';
import type { Learner } from '../support/scenario.ts';
import { recordResults, Scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { cursorOf, cursorSuite } from './cursor-suite.ts';

const service = await withService({ own: 'Is started again.', settings: { ARS_RATE_LIMIT: '1000000' } });
const subjects = ['digital', 'english', 'maths'] as const;

/** Fourteen learners with three results each and many equal dates, tombstones, moves, thirty groups. */
async function filled() {
  const org = await service.organisation();
  const scene = new Scenario(service, org);
  const groups = [];
  for (let i = 0; i < 30; i++) groups.push(await scene.group(`G${i}`, i % 2 === 0 ? 'cohort' : 'course'));
  const learners: Learner[] = [];
  for (let i = 0; i < 30; i++) learners.push(await scene.learner(`L${i}`));
  await groups[0]!.adds(...learners);
  await groups[1]!.adds(...learners.slice(5, 12));
  const ids = await service.withUnitOfWork((work) =>
    recordResults(
      work,
      org.id,
      learners.slice(0, 14).flatMap((learner, i) =>
        subjects.map((subject, s) => ({
          ref: learner.ref,
          subject,
          level: (i + s) % 6,
          assessed_at: `2026-01-0${1 + (i % 3)}T09:00:00Z`,
        })),
      ),
    ),
  );
  const { withdrawAssessment } = await import('../../src/governance/erasure/withdraw.ts');
  for (const id of ids.slice(0, 4))
    await service.withUnitOfWork((work) => withdrawAssessment(work, org.id, id, { actor: 'operator', reason: 'test' }));
  for (const learner of learners.slice(0, 13)) await learner.leaves(groups[0]!);
  return { org, scene, groups, learners };
}

const { org, scene, groups } = await filled();
const { org: foreign } = await filled();
const sibling = await service.sibling();
const given = () => ({ sibling, org, foreign });
const since = 'since=2020-01-01T00:00:00Z';

for (const address of [
  '/assessments',
  '/assessments?sort=updated_at',
  '/assessments?sort=-updated_at',
  '/assessments?sort=assessed_at',
  '/assessments?sort=-assessed_at',
  `/assessments?${since}`,
  '/assessments?subject=digital,maths,english',
  '/assessments?assessed_from=2026-01-01T00:00:00Z',
]) {
  cursorSuite(
    {
      address,
      others: [
        '/learners',
        '/groups',
        '/assessments?below_level_1=true',
        `${address}${address.includes('?') ? '&' : '?'}status=completed`,
      ],
      same: address.includes('subject=')
        ? ['/assessments?subject=maths&subject=digital,english', '/assessments?subject=english,maths,digital,maths']
        : [],
    },
    given,
  );
}
cursorSuite(
  {
    address: `/assessments?group_id=${groups[0]!.id}&${since}`,
    others: [
      '/assessments',
      `/assessments?group_id=${groups[1]!.id}&${since}`,
      `/assessments?group_id=${groups[0]!.id}&since=2020-01-01T00:00:00.001Z`,
    ],
    same: [`/assessments?group_id=${groups[0]!.id.toUpperCase()}&since=2020-01-01T01:00:00%2B01:00`],
  },
  given,
);
cursorSuite({ address: '/learners', others: ['/assessments', '/groups', `/learners?${since}`] }, given);
cursorSuite(
  {
    address: `/learners?${since}`,
    others: ['/learners', `/groups?${since}`],
    same: ['/learners?since=2020-01-01T00:00:00.000Z', '/learners?since=2019-12-31T23:00:00-01:00'],
  },
  given,
);
cursorSuite({ address: '/groups', others: ['/learners', '/groups?active=true', '/groups?type=cohort'] }, given);
cursorSuite(
  {
    address: '/groups?type=course,cohort',
    others: ['/groups', '/groups?type=course'],
    same: ['/groups?type=cohort&type=course'],
  },
  given,
);

suite('walks', () => {
  test('ascending: what changes behind the walk comes again at its end', async () => {
    const result = await (await scene.learner('mover')).completes();
    const after = await cursorOf(org, '/assessments');
    const {
      data: [first],
    } = (await org.get('/assessments?limit=1&status=completed')).body;
    await result.isAmended();
    const { amendAssessment } = await import('../../src/records/results/amend.ts');
    await service.withUnitOfWork((work) =>
      amendAssessment(
        work,
        org.id,
        first.assessment_id,
        { framework: 'Amended' },
        { actor: 'operator', reason: 'test' },
      ),
    );
    const rest = (await org.get(`/assessments?limit=500&cursor=${after}`)).body.data.map(
      (entry: any) => entry.assessment_id,
    );
    assert.deepEqual(rest.slice(-2), [result.id, first.assessment_id]);
  });

  test('a cursor survives a restart of the service', async () => {
    const addresses = [
      '/assessments?sort=-assessed_at',
      `/assessments?group_id=${groups[0]!.id}&${since}`,
      '/learners',
      '/groups?type=cohort',
    ];
    const going = await Promise.all(
      addresses.map(
        async (address) => `${address}${address.includes('?') ? '&' : '?'}cursor=${await cursorOf(org, address)}`,
      ),
    );
    const before = await Promise.all(going.map((address) => org.get(address)));
    await service.restart();
    const after = await Promise.all(going.map((address) => org.get(address)));
    assert.deepEqual(
      after.map((answer) => answer.body),
      before.map((answer) => answer.body),
    );
    assert.deepEqual(
      after.map((answer) => answer.headers.etag),
      before.map((answer) => answer.headers.etag),
    );
  });
});

suite('cursor text', () => {
  const secrets = deriveSecrets('a secret of at least 32 characters.');
  const binding = { organisationId: 7, path: '/assessments', query: 'subject=maths' };
  const cursor = {
    value: 1_767_225_600_123_456,
    id: '6512bd43-d9ca-46e0-a5f4-1a2b3c4d5e6f',
    throughUs: 1_767_225_600_999_999,
  };

  test('is read as it was written', () =>
    assert.deepEqual(readCursor(secrets, binding, writeCursor(secrets, binding, cursor)), cursor));

  test('is the same each time, and shows no padding', () => {
    assert.equal(writeCursor(secrets, binding, cursor), writeCursor(secrets, binding, cursor));
    assert.match(writeCursor(secrets, binding, cursor), /^[A-Za-z0-9_-]+$/);
  });

  test('is null under another binding or secret', () => {
    const text = writeCursor(secrets, binding, cursor);
    for (const other of [
      { ...binding, organisationId: 8 },
      { ...binding, path: '/learners' },
      { ...binding, query: '' },
      { ...binding, path: '/assessments\nsubject=maths', query: '' },
    ]) {
      assert.equal(readCursor(secrets, other, text), null);
    }
    assert.equal(readCursor(deriveSecrets('another secret of at least 32 chars'), binding, text), null);
  });

  test('assessed_at before 1970 has a cursor too', () => {
    const early = { ...cursor, value: -86_400_000_000 };
    assert.deepEqual(readCursor(secrets, binding, writeCursor(secrets, binding, early)), early);
  });
});
