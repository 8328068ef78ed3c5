import { html } from '../../../platform/html/html.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { eraseLearner } from '../../../governance/erasure/erase.ts';
import type { ErasurePreview } from '../../../governance/erasure/preview.ts';
import { findErasure, previewErasure } from '../../../governance/erasure/preview.ts';
import { actorNames } from '../kit/actors.ts';
import { facts, moment, count, number } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, formRoutes, get, named, ifDone } from '../kit/route.ts';
import { fieldsOf } from '../kit/form.ts';

export const erasureRoutes: ConsoleRoute[] = [
  ...formRoutes('/learners/{learner_id}/erase', managers, showErase, erase, { proof: true }),
  get('/learners/{erased_id}/erased', managers, erased),
];

/** Learners of other organisations and erased ones are the same 404 as unknown ones. */
export const learnerOf = (visit: Visit): Promise<ErasurePreview> =>
  named(visit, 'learner_id', (tx, organisationId, id) =>
    previewErasure(tx, organisationId, id, new Date(visit.app.clock.nowMs())),
  );

async function showErase(visit: Visit): Promise<Answer> {
  const one = await learnerOf(visit);
  const cancel = `${visit.base}/learners/${one.learner_id}`;
  return {
    title: 'Erase this learner?',
    back: { to: cancel, label: 'The learner' },
    main: html`<p>All that is held of ${name(one.full_name)}${one.ref === null ? null : html`, reference <code>${one.ref}</code>,`} is deleted for good. Nothing brings it back.</p>${facts(
      {
        'Results that become tombstones': count(one.results, 'result'),
        'Evidence files that go': count(one.evidence, 'file'),
        'Invitations that end': `${count(one.open_invitations, 'open invitation')}, of ${one.invitations} in all`,
        'Credits that come back': count(one.credits_returned, 'credit'),
        'Sittings under way that end without a result': count(one.open_sittings, 'sitting'),
        'Messages to webhooks that are emptied': count(one.messages, 'message'),
        'Deliveries that will not be sent any more': count(one.waiting, 'delivery', 'deliveries'),
      },
    )}<p>Name, reference, e-mail address, answers, notes and reasons go with them.</p><h2>What stays, and why</h2><ul><li>Ids, times and tombstones, so that connected platforms learn that it is gone and delete their copies.</li><li>Which questions were shown, without answers, so that how often each is used stays known.</li><li>A keyed hash of the reference, so that a platform that asks by the reference gets the tombstones, too. It can’t be turned back.</li><li>Who erased and when. The audit log keeps ids, and names nobody.</li></ul><p>Files that somebody has downloaded, and backups, are outside this service: they are yours to delete.</p>${fieldsOf(visit).form('Erase this learner', { danger: true, cancel })}`,
  };
}

async function erase(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, params, change } = visit;
  const id = params.learner_id!.toLowerCase();
  if (!isUuid(id)) throw new NoSuchPage();
  await change(async (work) => ifDone(await eraseLearner(work, organisationId, id, { actor: userId }), id));
  // A form that is sent twice also leads to the page of the erasure.
  const done = await findErasure(visit.app.db, organisationId, id);
  if (done === undefined) throw new NoSuchPage();
  return { to: `${base}/learners/${id}/erased` };
}

async function erased(visit: Visit): Promise<Answer> {
  const { zone, params, base } = visit;
  const found = await named(visit, 'erased_id', findErasure);
  const by = await actorNames(visit);
  return {
    title: 'The learner is erased',
    back: { to: base, label: 'Start' },
    main: html`${facts({
      Erased: moment(found.at, zone),
      By: by(found.actor),
      'Learner id': html`<code>${params.erased_id!.toLowerCase()}</code>`,
      'Tombstones of results': number(found.tombstones),
    })}<h2>What connected platforms get</h2><p>At their next request every mirror gets ${count(found.tombstones, 'tombstone')} of results (<code>status: "deleted"</code>) and one of the learner, and removes what it holds: whether it follows all results, a group, a subject or the reference. Webhooks send nothing more of this person. A platform that has not asked since still holds its copy: its key’s page shows when it asked last.</p><p>Keep this page’s address for your file: it names nobody.</p>`,
  };
}
