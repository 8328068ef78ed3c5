import { Readable } from 'node:stream';
import { exportLearner } from '../../../governance/subject-access/export.ts';
import { learnerTables } from '../../../governance/subject-access/tables.ts';
import { html } from '../../../platform/html/html.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { facts, count } from '../kit/blocks.ts';
import { learnerOf } from './erasure.ts';
import { name } from '../kit/frame.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { formRoutes } from '../kit/route.ts';
import { fieldsOf } from '../kit/form.ts';

/** A subject access request (UK GDPR, articles 15 and 20): everything held about a learner in one file. */
export const learnerExportRoutes: ConsoleRoute[] = formRoutes('/learners/{learner_id}/export', managers, show, send, {
  proof: true,
});

async function show(visit: Visit): Promise<Answer> {
  const one = await learnerOf(visit);
  const cancel = `${visit.base}/learners/${one.learner_id}`;
  return {
    title: 'Everything held of a learner',
    back: { to: cancel, label: 'The learner' },
    main: html`<p>One ZIP file with all that is held of ${name(one.full_name)}: a page in plain words to read first, the evidence files, and the rest as JSON. Give it to that person, after you have made sure who asks. That it was made, and by whom, is in the audit log.</p>${facts(
      {
        Results: count(one.results, 'result'),
        'Evidence files': count(one.evidence, 'file'),
        Invitations: count(one.invitations, 'invitation'),
        'Messages to other systems': count(one.messages, 'message'),
      },
    )}<h2>What is in it</h2><ul>${Object.values(learnerTables).map(({ says }) => html`<li>${says}</li>`)}</ul><p>It is written to the learner: “you” is the person. Questions come without their keys. Before you hand it over, look through notes and reasons for what is about somebody else.</p>${fieldsOf(visit).form('Make the file', { cancel })}`,
  };
}

async function send(visit: Visit): Promise<Answer> {
  const { app, organisationId, change } = visit;
  const { learner_id: id } = await learnerOf(visit);
  const whole = await readOrganisation(app.db, organisationId);
  await change(async () => ({ result: null, resource: id }));
  const body = Readable.from(exportLearner(app, { organisation: whole, learnerId: id }), { objectMode: false });
  return { file: { type: 'application/zip', name: `learner-${id}.zip`, body } };
}
