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
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, formRoutes, get, findOr404, routesOf } from '../kit/route.ts';
import { confirmPage } from '../kit/page.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';

/** A learner of another organisation or an erased learner gets the same 404 as an unknown learner. */
export const learnerOf = (visit: Visit): Promise<ErasurePreview> =>
  findOr404(visit, 'learner_id', (tx, organisationId, id) =>
    previewErasure(tx, organisationId, id, new Date(visit.app.clock.nowMs())),
  );
export const ofLearner = routesOf(learnerOf);
export const erasureRoutes: ConsoleRoute[] = [
  ...formRoutes('/learners/{learner_id}/erase', managers, async (one) => showErase(one, await learnerOf(one)), erase, {
    proof: true,
  }),
  get('/learners/{erased_id}/erased', managers, erased),
  ...ofLearner.form('/learners/{learner_id}/export', managers, showExport, sendExport, { proof: true }),
];

async function showErase(visit: Visit, one: ErasurePreview): Promise<Answer> {
  return confirmPage(visit, {
    title: 'Erase learner?',
    back: { to: `${visit.base}/learners/${one.learner_id}`, label: 'Learner' },
    says: [
      html`All data about ${name(one.full_name)}${one.ref === null ? null : html`, reference ${code(one.ref)},`} is deleted. This can’t be undone.`,
    ],
    intro: [
      facts({
        'Results that platforms delete (tombstones)': count(one.results, 'result'),
        'Evidence packs that are deleted': count(one.evidence, 'evidence pack'),
        'Invitations that end': `${count(one.open_invitations, 'open invitation')}, of ${one.invitations} in all`,
        'Credits that are returned': count(one.credits_returned, 'credit'),
        'Sittings that end without a result': count(one.open_sittings, 'sitting'),
        'Webhook events whose content is deleted': count(one.messages, 'event'),
        'Waiting deliveries that are cancelled': count(one.waiting, 'delivery', 'deliveries'),
      }),
      html`<p>The name, reference, email address, answers, notes and reasons are also deleted.</p><h2>Data that is kept</h2><ul><li>IDs, times and tombstones, so that connected platforms delete their copies.</li><li>The shown questions without answers, to count how often each question is used.</li><li>A keyed hash of the reference, so that requests with the reference return the tombstones. The hash can’t be reversed.</li><li>The time of the erasure and the ID of the person who erased. The audit log contains no names.</li></ul><p>Downloaded files and backups are outside this service. Delete them yourself.</p>`,
    ],
    button: 'Erase learner',
  });
}

async function erase(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, params, change } = visit;
  const id = params.learner_id!.toLowerCase();
  if (!isUuid(id)) throw new NoSuchPage();
  await change((work) => eraseLearner(work, organisationId, id, { actor: userId }), id);
  // If the form is sent twice, the second request redirects to the erasure that the first request created.
  if ((await findErasure(visit.app.db, organisationId, id)) === undefined) throw new NoSuchPage();
  return { to: `${base}/learners/${id}/erased` };
}

async function erased(visit: Visit): Promise<Answer> {
  const { zone, params, base } = visit;
  const found = await findOr404(visit, 'erased_id', findErasure);
  const by = await actorNames(visit);
  return {
    title: 'The learner is erased',
    back: { to: base, label: 'Dashboard' },
    main: [
      facts({
        Erased: moment(found.at, zone),
        By: by(found.actor),
        'Learner ID': code(params.erased_id!.toLowerCase()),
        'Tombstones of results': number(found.tombstones),
      }),
      html`<h2>Connected platforms</h2><p>At its next request each platform gets ${count(found.tombstones, 'tombstone')} of results (<code>status: "deleted"</code>) and 1 tombstone of the learner, and deletes its local copy. Webhooks send no more events about this learner. Until a platform polls again, it still has its copy. The page of its key shows the last request.</p><p>Keep the URL of this page as your record. It contains no name.</p>`,
    ],
  };
}

/** Offers all data about a learner in one file, for a subject access request (UK GDPR, articles 15 and 20). */
async function showExport(visit: Visit, one: ErasurePreview): Promise<Answer> {
  return confirmPage(visit, {
    title: 'Export learner data',
    back: { to: `${visit.base}/learners/${one.learner_id}`, label: 'Learner' },
    says: [
      html`One ZIP file with all data about ${name(one.full_name)}: a summary page, the evidence packs, and all other data as JSON. Check the identity of the person who asks before you give them the file. The audit log records the export.`,
    ],
    intro: [
      facts({
        Results: count(one.results, 'result'),
        'Evidence packs': count(one.evidence, 'evidence pack'),
        Invitations: count(one.invitations, 'invitation'),
        'Webhook events': count(one.messages, 'event'),
      }),
      html`<h2>Contents</h2><ul>${Object.values(learnerTables).map(({ says }) => html`<li>${says}</li>`)}</ul><p>The texts address the learner as “you”. Questions come without their correct answers. Before you give the file to the learner, check notes and reasons for data about other people.</p>`,
    ],
    button: 'Export learner data',
    danger: false,
  });
}

async function sendExport(visit: Visit, { learner_id: learnerId }: ErasurePreview): Promise<Answer> {
  const { app, organisationId, change } = visit;
  const organisation = await readOrganisation(app.db, organisationId);
  await change(async () => true, learnerId);
  const body = Readable.from(exportLearner(app, { organisation, learnerId }), { objectMode: false });
  return { file: { type: 'application/zip', name: `learner-${learnerId}.zip`, body } };
}
