import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { addMembers } from '../../src/organisations/groups/members.ts';
import { provisionLearner } from '../../src/sittings/invitations/provision.ts';
import { ensureTeam } from '../../src/organisations/teams.ts';
import { Scenario, recordResults } from '../support/scenario.ts';
import { client } from '../contract/support/client.ts';
import { withService } from '../support/service.ts';
import { secret, serviceProcess } from './world/processes.ts';

/** Law 4: a cause and its events are one transaction; so are a provisioning and its credit, a result and its learner, a team and its group. */

const service = await withService({
  own: 'Has a secret that the test knows.',
  settings: { ARS_RATE_LIMIT: '1000000', ARS_SECRET: secret },
});

const counted = [
  'assessment',
  'assessment_feed',
  'learner',
  'learner_feed',
  'learner_group',
  'membership',
  'group_set',
  'invitation',
  'event',
  'delivery',
  'evidence',
  'assessment_change',
];

/** Everything that a change could leave behind. */
async function stored(organisationId: number): Promise<Record<string, unknown>> {
  const rows = await service.app.db.query<{ name: string; text: string }>(
    counted
      .map(
        (table) =>
          `select '${table}' as name, coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') || count(*) as text from ${table} t where organisation_id = $1`,
      )
      .join(' union all ') +
      ` union all select 'credits', credits::text from organisation where organisation_id = $1 union all select 'feed', f::text from feed f where organisation_id = $1`,
    [organisationId],
  );
  return Object.fromEntries(rows.map(({ name, text }) => [name, text]));
}

suite('law 4: a cause and its events are one transaction', () => {
  test('law 4: a change that fails at its end leaves no event, no credit spent, nothing', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 5 });
    const scene = new Scenario(service, org);
    const ana = await scene.learner('ana');
    const cohort = await scene.group('C1');
    await ana.completes();
    await org.post('/webhooks', {
      url: 'https://consumer.example/hook',
      event_types: ['assessment.completed', 'learner.groups.updated'],
    });
    const before = await stored(org.id);
    const changes: [string, Parameters<typeof service.withUnitOfWork>[0]][] = [
      ['a membership', (work) => addMembers(work, org.id, cohort.id, ['ana'])],
      ['a result', (work) => recordResults(work, org.id, [{ ref: 'ana', subject: 'english' }], { events: true })],
      [
        'a provisioning',
        (work) =>
          provisionLearner(
            work,
            org.id,
            {
              full_name: 'Bo Okafor',
              email: null,
              ref: 'bo',
              groups: [{ type: 'cohort', ref: 'C2', name: 'New' }],
            },
            'test',
          ),
      ],
      [
        'a provisioning of somebody known',
        (work) =>
          provisionLearner(
            work,
            org.id,
            {
              full_name: 'Ana New',
              email: null,
              ref: 'ana',
              groups: [{ type: 'cohort', ref: 'C1', name: '' }],
            },
            'test',
          ),
      ],
      ['a team', (work) => ensureTeam(work, org.id, { ref: 'T1', name: 'Team' })],
    ];
    for (const [what, change] of changes) {
      await assert.rejects(
        service.withUnitOfWork(async (work) => {
          await change(work);
          throw new Error('the end');
        }),
        /the end/,
      );
      assert.deepEqual(await stored(org.id), before, `law 4: ${what} that was rolled back left an event, or more`);
    }
  });

  test('law 4: a refused provisioning leaves nothing', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 0, groupAutocreate: true });
    const before = await stored(org.id);
    const refused = await org.post('/learners', {
      ref: 'bo',
      full_name: 'Bo Okafor',
      groups: [{ type: 'cohort', ref: 'C9', name: 'New' }],
    });
    assert.equal(refused.status, 402);
    assert.deepEqual(await stored(org.id), before, 'law 4: a refusal left something');
  });

  test('law 4: connections that are cut in the middle of changes leave each change whole or not at all', async () => {
    const made = await service.organisation({ plan: 'standard', credits: 1000 });
    // In a process of its own, which has to survive it.
    const process = await serviceProcess({ DATABASE_URL: service.databaseUrl, ARS_SECRET: secret });
    const org = { ...client(process.url, made.key), id: made.id };
    const cohort = (await org.post('/groups', { type: 'cohort', ref: 'C1', name: 'Cohort' })).body.data.id;
    const refs = Array.from({ length: 12 }, (_, n) => `L-${n}`);
    for (const ref of refs) await org.post('/learners', { ref, full_name: `Somebody ${ref}` });
    let over = false;
    let cuts = 0;
    const cutting = (async () => {
      while (!over)
        cuts += (
          await service.app.db.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state = 'idle in transaction' and application_name like 'ars/%' limit 1`)
        ).length;
    })();
    let refused = 0;
    await Promise.all(
      refs.map(async (ref, n) => {
        for (let round = 0; round < 12; round++) {
          const answer =
            round % 3 === 2
              ? await org.post('/learners', { ref: `new-${n}-${round}`, full_name: `Somebody New ${n}` })
              : await org.post(`/groups/${cohort}/members${round % 2 === 0 ? '' : '/remove'}`, { learner_refs: [ref] });
          if (answer.status === 503) refused++;
          else assert.ok(answer.status < 300, answer.text);
        }
      }),
    ).finally(() => {
      over = true;
    });
    await cutting;
    assert.ok(cuts > 0 && refused > 0, `${cuts} connections cut, ${refused} changes refused`);
    assert.equal((await org.get('/health')).status, 200);
    const [told] = await service.app.db.query<Record<string, number>>(
      `
      select (select count(*) from event where organisation_id = $1 and payload like '%"added":["%') as added,
             (select count(*) from event where organisation_id = $1 and payload like '%"removed":["%') as removed,
             (select count(*) from membership where organisation_id = $1) as joined,
             (select count(*) from membership where organisation_id = $1 and left_position is not null) as gone,
             (select count(*) from invitation where organisation_id = $1 and credit_spent) as invitations,
             (select count(*) from learner where organisation_id = $1) as learners,
             (select 1000 - credits from organisation where organisation_id = $1) as spent`,
      [org.id],
    );
    assert.equal(told!.added, told!.joined, 'law 4: an event for each joining');
    assert.equal(told!.removed, told!.gone, 'law 4: an event for each leaving');
    assert.equal(told!.invitations, told!.spent, 'law 4: a credit for each invitation');
    assert.equal(told!.invitations, told!.learners, 'law 4: an invitation for each learner');
  });
});
