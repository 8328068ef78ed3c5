import { html } from '../html.ts';
import { managers } from '../users/roles.ts';
import { isUuid } from '../uuid.ts';
import type { Erasure } from '../withdrawals/erase.ts';
import { eraseLearner } from '../withdrawals/erase.ts';
import type { ErasurePreview } from '../withdrawals/preview.ts';
import { findErasure, previewErasure } from '../withdrawals/preview.ts';
import { actorNames } from './actors.ts';
import { facts, moment, count, number } from './blocks.ts';
import { form } from './form.ts';
import { name } from './frame.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, formRoutes, get } from './route.ts';

/** Erasing a learner: what would go in numbers, the act, and what came of it. */
export const erasureRoutes: ConsoleRoute[] = [
  ...formRoutes('/learners/{learner_id}/erase', managers, showErase, erase, { proof: true }),
  get('/learners/{erased_id}/erased', managers, erased),
];

/** The learner of the address; somebody else's, nobody's and an erased one's are the same page that isn't there. */
export async function learnerOf({ app, organisationId, params }: Visit): Promise<ErasurePreview> {
  const id = params.learner_id!;
  const found = isUuid(id)
    ? await previewErasure(app.db, organisationId, id.toLowerCase(), new Date(app.clock.nowMs()))
    : undefined;
  if (found === undefined) throw new NoSuchPage();
  return found;
}

async function showErase(visit: Visit): Promise<Answer> {
  const { base } = visit;
  const one = await learnerOf(visit);
  const here = `${base}/learners/${one.learner_id}`;
  return {
    title: 'Erase this learner?',
    back: { to: here, label: 'The learner' },
    main: html`<p>All that is held of ${name(one.full_name)}${one.ref === null ? null : html`, reference <code>${one.ref}</code>,`} is deleted for good. Nothing brings it back.</p>${facts(
      [
        ['Results that become tombstones', count(one.results, 'result')],
        ['Evidence files that go', count(one.evidence, 'file')],
        ['Invitations that end', `${count(one.open_invitations, 'open invitation')}, of ${one.invitations} in all`],
        ['Credits that come back', count(one.credits_returned, 'credit')],
        ['Sittings under way that end without a result', count(one.open_sittings, 'sitting')],
        ['Messages to webhooks that are emptied', count(one.messages, 'message')],
        ['Deliveries that will not be sent any more', count(one.waiting, 'delivery', 'deliveries')],
      ],
    )}<p>Name, reference, e-mail address, answers, notes and reasons go with them.</p><h2>What stays, and why</h2><ul><li>Ids, times and tombstones, so that connected platforms learn that it is gone and delete their copies.</li><li>Which questions were shown, without answers, so that how often each is used stays known.</li><li>A keyed hash of the reference, so that a platform that asks by the reference gets the tombstones, too. It can’t be turned back.</li><li>Who erased and when. The audit log keeps ids, and names nobody.</li></ul><p>Files that somebody has downloaded, and backups, are outside this service: they are yours to delete.</p>${form(
      `${here}/erase`,
      null,
      'Erase this learner',
      { danger: true, cancel: here },
    )}`,
  };
}

async function erase(visit: Visit): Promise<Answer> {
  const { base, organisationId, session, params, change } = visit;
  const id = params.learner_id!.toLowerCase();
  if (!isUuid(id)) throw new NoSuchPage();
  await change(async (work): Promise<Acted<Erasure | null>> => {
    const result = await eraseLearner(work, organisationId, id, { actor: session.user_id });
    return result === null ? { result } : { result, resource: id };
  });
  // Whoever pressed twice, or came second, is shown what came of it as well.
  const done = await findErasure(visit.app.db, organisationId, id);
  if (done === undefined) throw new NoSuchPage();
  return { to: `${base}/learners/${id}/erased` };
}

async function erased(visit: Visit): Promise<Answer> {
  const { app, organisationId, zone, params, base } = visit;
  const id = params.erased_id!;
  const found = isUuid(id) ? await findErasure(app.db, organisationId, id.toLowerCase()) : undefined;
  if (found === undefined) throw new NoSuchPage();
  const names = await actorNames(visit);
  return {
    title: 'The learner is erased',
    back: { to: base, label: 'Start' },
    main: html`${facts([
      ['Erased', moment(found.at, zone)],
      ['By', names.get(found.actor) ?? found.actor],
      ['Learner id', html`<code>${id.toLowerCase()}</code>`],
      ['Tombstones of results', number(found.tombstones)],
    ])}<h2>What connected platforms get</h2><p>At their next request every mirror gets ${count(found.tombstones, 'tombstone')} of results (<code>status: "deleted"</code>) and one of the learner, and removes what it holds: whether it follows all results, a group, a subject or the reference. Webhooks send nothing more of this person. A platform that has not asked since still holds its copy: its key’s page shows when it asked last.</p><p>Keep this page’s address for your file: it names nobody.</p>`,
  };
}
