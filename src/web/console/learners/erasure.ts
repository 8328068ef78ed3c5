import { Readable } from 'node:stream';
import { exportLearner } from '../../../governance/subject-access/export.ts';
import { learnerTables } from '../../../governance/subject-access/tables.ts';
import { html } from '../../../platform/html/html.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { eraseLearner } from '../../../governance/erasure/erase.ts';
import { type ErasurePreview, findErasure, previewErasure } from '../../../governance/erasure/preview.ts';
import { actorNames } from '../kit/reader.ts';
import { facts, moment, count, number, code } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, formRoutes, get, findOr404 } from '../kit/route.ts';
import { confirmPage } from '../kit/page.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';

export const erasureRoutes: ConsoleRoute[] = [
  ...formRoutes('/learners/{learner_id}/erase', managers, showErase, erase, { proof: true }),
  get('/learners/{erased_id}/erased', managers, erased),
  ...formRoutes('/learners/{learner_id}/export', managers, showExport, sendExport, { proof: true }),
];

/** A learner of another organisation or an erased learner is the same 404 as an unknown learner. */
export const learnerOf = (visit: Visit): Promise<ErasurePreview> =>
  findOr404(visit, 'learner_id', (tx, organisationId, id) =>
    previewErasure(tx, organisationId, id, new Date(visit.app.clock.nowMs())),
  );

async function showErase(visit: Visit): Promise<Answer> {
  const one = await learnerOf(visit);
  return confirmPage(visit, {
    title: 'Erase this learner?',
    back: { to: `${visit.base}/learners/${one.learner_id}`, label: 'The learner' },
    says: [
      html`All that is held of ${name(one.full_name)}${one.ref === null ? null : html`, reference ${code(one.ref)},`} is deleted for good. Nothing brings it back.`,
    ],
    intro: [
      facts({
        'Results that become tombstones': count(one.results, 'result'),
        'Evidence files that go': count(one.evidence, 'file'),
        'Invitations that end': `${count(one.open_invitations, 'open invitation')}, of ${one.invitations} in all`,
        'Credits that come back': count(one.credits_returned, 'credit'),
        'Sittings under way that end without a result': count(one.open_sittings, 'sitting'),
        'Messages to webhooks that are emptied': count(one.messages, 'message'),
        'Deliveries that will not be sent any more': count(one.waiting, 'delivery', 'deliveries'),
      }),
      html`<p>Name, reference, e-mail address, answers, notes and reasons go with them.</p><h2>What stays, and why</h2><ul><li>Ids, times and tombstones, so that connected platforms learn that it is gone and delete their copies.</li><li>Which questions were shown, without answers, so that how often each is used stays known.</li><li>A keyed hash of the reference, so that a platform that asks by the reference gets the tombstones, too. It can’t be turned back.</li><li>Who erased and when. The audit log keeps ids, and names nobody.</li></ul><p>Files that somebody has downloaded, and backups, are outside this service: they are yours to delete.</p>`,
    ],
    button: 'Erase this learner',
  });
}

async function erase(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, params, change } = visit;
  const id = params.learner_id!.toLowerCase();
  if (!isUuid(id)) throw new NoSuchPage();
  await change((work) => eraseLearner(work, organisationId, id, { actor: userId }), id);
  // If the form is sent twice, the second request finds the first request's erasure and also redirects to the erasure's
  // page.
  if ((await findErasure(visit.app.db, organisationId, id)) === undefined) throw new NoSuchPage();
  return { to: `${base}/learners/${id}/erased` };
}

async function erased(visit: Visit): Promise<Answer> {
  const { zone, params, base } = visit;
  const found = await findOr404(visit, 'erased_id', findErasure);
  const by = await actorNames(visit);
  return {
    title: 'The learner is erased',
    back: { to: base, label: 'Start' },
    main: [
      facts({
        Erased: moment(found.at, zone),
        By: by(found.actor),
        'Learner id': code(params.erased_id!.toLowerCase()),
        'Tombstones of results': number(found.tombstones),
      }),
      html`<h2>What connected platforms get</h2><p>At their next request every mirror gets ${count(found.tombstones, 'tombstone')} of results (<code>status: "deleted"</code>) and one of the learner, and removes what it holds: whether it follows all results, a group, a subject or the reference. Webhooks send nothing more of this person. A platform that has not asked since still holds its copy: its key’s page shows when it asked last.</p><p>Keep this page’s address for your file: it names nobody.</p>`,
    ],
  };
}

/**
 * Offers everything stored about a learner in one file, to answer a subject access request (UK GDPR, articles 15 and
 * 20).
 */
async function showExport(visit: Visit): Promise<Answer> {
  const one = await learnerOf(visit);
  return confirmPage(visit, {
    title: 'Everything held of a learner',
    back: { to: `${visit.base}/learners/${one.learner_id}`, label: 'The learner' },
    says: [
      html`One ZIP file with all that is held of ${name(one.full_name)}: a page in plain words to read first, the evidence files, and the rest as JSON. Give it to that person, after you have made sure who asks. That it was made, and by whom, is in the audit log.`,
    ],
    intro: [
      facts({
        Results: count(one.results, 'result'),
        'Evidence files': count(one.evidence, 'file'),
        Invitations: count(one.invitations, 'invitation'),
        'Messages to other systems': count(one.messages, 'message'),
      }),
      html`<h2>What is in it</h2><ul>${Object.values(learnerTables).map(({ says }) => html`<li>${says}</li>`)}</ul><p>It is written to the learner: “you” is the person. Questions come without their keys. Before you hand it over, look through notes and reasons for what is about somebody else.</p>`,
    ],
    button: 'Make the file',
    danger: false,
  });
}

async function sendExport(visit: Visit): Promise<Answer> {
  const { app, organisationId, change } = visit;
  const { learner_id: learnerId } = await learnerOf(visit);
  const organisation = await readOrganisation(app.db, organisationId);
  await change(async () => true, learnerId);
  const body = Readable.from(exportLearner(app, { organisation, learnerId }), { objectMode: false });
  return { file: { type: 'application/zip', name: `learner-${learnerId}.zip`, body } };
}
