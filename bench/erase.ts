import { feedLane, inWork } from '../src/db/work.ts';
import { addMembers, removeMembers } from '../src/groups/members.ts';
import { openApp } from '../src/open-app.ts';
import { listOrganisations } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { eraseLearner } from '../src/withdrawals/erase.ts';
import { previewErasure } from '../src/withdrawals/preview.ts';
import { median } from './process.ts';

/**
 * How long it takes to erase a learner in the organisation of bench/console.ts, preview aside and included, and to move 500
 * learners out of a group and into it again, which is 10,000 results with twenty each.
 * Needs DATABASE_URL (what bench/console.ts fills; learners of it are erased) and ARS_SECRET.
 * Usage: node bench/erase.ts [learners] [moves]
 */
const learners = Number(process.argv[2] ?? 20);
const moves = Number(process.argv[3] ?? 4);
const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });
const { organisation_id: id } = (await listOrganisations(app.db)).find(({ name }) => /^Bench \d+$/.test(name))!;

const timed = async (inside: () => Promise<unknown>): Promise<number> => {
  const beganMs = app.clock.monotonicMs();
  await inside();
  return app.clock.monotonicMs() - beganMs;
};
const told = (what: string, times: number[]) =>
  process.stdout.write(
    `${what}: median ${median(times).toFixed(0)} ms, longest ${Math.max(...times).toFixed(0)} ms of ${times.length}\n`,
  );

const whom = await app.db.query<{ learner_id: string }>(
  `select learner_id from learner where organisation_id = $1 and full_name <> '' order by md5(learner_id::text) limit $2`,
  [id, learners],
);
const previews: number[] = [];
const erasures: number[] = [];
for (const { learner_id } of whom) {
  previews.push(await timed(() => previewErasure(app.db, id, learner_id, new Date(app.clock.nowMs()))));
  erasures.push(
    await timed(() => inWork(app, feedLane(id), (work) => eraseLearner(work, id, learner_id, { actor: 'bench' }))),
  );
}
told('what an erasure would take', previews);
told('an erasure', erasures);

const [group] = await app.db.query<{ group_id: string }>(
  `select group_id from learner_group where organisation_id = $1 and type = 'class' order by ref limit 1`,
  [id],
);
const refs = await app.db.query<{ ref: string; results: number }>(
  `select l.ref, (select count(*) from assessment_feed f where f.organisation_id = $1 and f.learner_id = l.learner_id) as results
     from learner l where l.organisation_id = $1 and l.ref is not null order by md5(l.learner_id::text) limit 500`,
  [id],
);
const whose = refs.map(({ ref }) => ref);
const times: number[] = [];
for (let n = 0; n < moves; n++)
  for (const change of [addMembers, removeMembers])
    times.push(
      await timed(() =>
        inWork(app, feedLane(id), async (work) => void (await change(work, id, group!.group_id, whose))),
      ),
    );
told(`${whose.length} learners with ${refs.reduce((sum, one) => sum + one.results, 0)} results join or leave`, times);
await close();
