import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readyRecord } from '../../../src/records/import/record.ts';
import { RecordRefused } from '../../../src/records/results/result-fields.ts';

const nowMs = Date.UTC(2026, 10, 22);
const record = {
  learner: { ref: 'ana', full_name: 'Ana Silva' },
  assessed_at: '2026-01-15T10:00:00Z',
  subject: 'maths',
  framework: 'F',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
};

function faultsOf(value: unknown, dates: 'uk' | 'rfc3339' = 'rfc3339') {
  try {
    readyRecord(value, 'here', nowMs, dates);
  } catch (error) {
    assert.ok(error instanceof RecordRefused);
    return error.faults;
  }
  return [];
}

suite('what is wrong with a record', () => {
  test('all of it is told at once, each with what was expected and an example, and nothing that was found', () => {
    const wrong = {
      assessment_id: 'secret',
      learner: { ref: 'se cret', full_name: '', secret: 1 },
      assessed_at: '31/01/2026',
      subject: 'secret',
      framework: 7,
      rqf_level: 'secret',
      rqf_level_code: '2',
      below_level_1: 'secret',
      working_level: '',
      recommended_next_level: 'QQ 12 34 56 C',
      is_borderline: null,
      needs_review: 'secret',
      level_probabilities: { 'Level 1': 0.5, secret: '0.5' },
      domains: [{ name: 'a' }, { score_pct: 101, status: 'secret\n' }, { name: 'b', score_pct: 1.5 }, 'secret'],
      groups: [{ type: 'team', ref: '', name: 'x'.repeat(201) }],
      secret: true,
    };
    const faults = faultsOf(wrong);
    assert.deepEqual(faults.map(({ field }) => field).sort(), [
      'assessed_at',
      'assessment_id',
      'below_level_1',
      'domains[1].name',
      'domains[1].score_pct',
      'domains[1].status',
      'domains[2].score_pct',
      'domains[3]',
      'framework',
      'groups[0].name',
      'groups[0].ref',
      'groups[0].type',
      'is_borderline',
      'learner',
      'learner.full_name',
      'learner.ref',
      'level_probabilities',
      'needs_review',
      'recommended_next_level',
      'rqf_level',
      'rqf_level_code',
      'subject',
      'the record',
      'working_level',
    ]);
    for (const fault of faults) assert.ok(fault.expected !== '' && fault.example !== '', fault.field);
    assert.doesNotMatch(JSON.stringify(faults), /secret|QQ|31\/01\/2026/);
  });

  test('nothing given is everything that is required', () => {
    assert.deepEqual(
      faultsOf({}).map(({ field }) => field),
      ['learner', 'subject', 'rqf_level', 'rqf_level_code', 'below_level_1', 'framework', 'assessed_at'],
    );
    for (const value of [null, 1, 'x', [], true]) assert.equal(faultsOf(value).length, 1);
  });

  test('what contradicts is told beside what is wrong by itself', () => {
    const groups = [{ type: 'cohort', ref: 'a', name: 'A' }];
    const wrong = { ...record, learner: { full_name: 'Ana' }, framework: '', rqf_level_code: 3, groups };
    assert.deepEqual(
      faultsOf(wrong).map(({ field }) => field),
      ['framework', 'learner.ref', 'rqf_level'],
    );
    assert.deepEqual(
      faultsOf({ ...record, learner: { ref: 'ana.silva', full_name: 'Ana Silva' } }).map(({ field }) => field),
      ['learner.ref'],
    );
  });
});

suite('dates as in the United Kingdom', () => {
  const at = (assessed_at: string) =>
    new Date(readyRecord({ ...record, assessed_at }, 'here', nowMs, 'uk').assessedAtUs / 1000).toISOString();

  test('the clocks of Europe/London, summer and winter, with and without a time', () => {
    assert.equal(at('31/01/2026 09:30'), '2026-01-31T09:30:00.000Z');
    assert.equal(at('31/07/2026 09:30:15'), '2026-07-31T08:30:15.000Z');
    assert.equal(at('31/01/2026'), '2026-01-31T00:00:00.000Z');
    assert.equal(at('01/07/2026'), '2026-06-30T23:00:00.000Z');
    assert.equal(at('29/02/2024 23:59'), '2024-02-29T23:59:00.000Z');
    assert.equal(at('29/03/2026 00:59:59'), '2026-03-29T00:59:59.000Z');
    assert.equal(at('29/03/2026 02:00'), '2026-03-29T01:00:00.000Z');
    assert.equal(at('25/10/2026 00:59:59'), '2026-10-24T23:59:59.000Z');
    assert.equal(at('25/10/2026 02:00'), '2026-10-25T02:00:00.000Z');
    // Summer time ended on a Saturday night of its own in those years.
    assert.equal(at('25/10/1992 02:30'), '1992-10-25T02:30:00.000Z');
    assert.equal(at('2026-01-31T09:30:00+01:00'), '2026-01-31T08:30:00.000Z');
  });

  test('what can be read in two ways, or never was, is refused with a sentence', () => {
    const wrong = [
      ...['1/2/2026', '01/02/26', '2026/02/01', '01-02-2026', '01.02.2026', '2026-02-01', '12/31/2026', '31/02/2026'],
      ...['29/02/2026', '00/01/2026', '01/00/2026', '01/02/2026 9:30', '01/02/2026 24:00', '01/02/2026 09:60'],
      ...['01/02/2026 09:30 AM', ' 01/02/2026', '01/02/2026T09:30', '', '01/02/2027'],
    ];
    for (const text of wrong) assert.equal(faultsOf({ ...record, assessed_at: text }, 'uk').length, 1, text);
    const expected = (text: string, dates?: 'uk') => faultsOf({ ...record, assessed_at: text }, dates)[0]!.expected;
    assert.match(expected('25/10/2026 01:30', 'uk'), /show this time twice/);
    assert.match(expected('25/10/2026 01:00', 'uk'), /show this time twice/);
    assert.match(expected('29/03/2026 01:00', 'uk'), /leave this time out/);
    assert.match(expected('29/03/2026 01:59:59', 'uk'), /leave this time out/);
    assert.match(expected('31/01/2026'), /--dates uk/);
  });
});
