import { membersOf, progressOfLearners } from '../../../records/results/lists/progress.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import { classReport } from '../../reports/class.ts';
import { learnerReport } from '../../reports/learner.ts';
import { messagePage, refusal } from '../kit/page.ts';
import { visibilityOf } from '../kit/reader.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, get } from '../kit/route.ts';
import { headOf } from '../learners/learner.ts';
import { groupOf, readResultFilter } from './filter.ts';
import { subjectIn } from './gaps.ts';

export const reportRoutes: ConsoleRoute[] = [
  get('/learners/{learner_id}/report', learnerReaders, forLearner),
  get('/results/report', learnerReaders, forClass),
];

/** A class report has at most this many learners, because a page of paper has about 30 rows. */
const maxInClass = 200;

async function sent(visit: Visit, name: string, resource: string, body: Buffer): Promise<Answer> {
  await visit.change(async () => true, resource);
  return { file: { type: 'application/pdf', name: `${name}.pdf`, body } };
}

async function forLearner(visit: Visit): Promise<Answer> {
  const { app, organisationId: id } = visit;
  const { learner_id: learnerId, full_name: learner } = await headOf(visit);
  const scope = { subject: null, visibility: await visibilityOf(visit) };
  const rows = await progressOfLearners(app.db, id, [learnerId], scope);
  if (rows.length === 0)
    return messagePage('There is no result yet', 'A learner report needs a result. Go back to the learner.');
  const { name: organisation } = await readOrganisation(app.db, id);
  const body = learnerReport({ organisation, learner, nowMs: app.clock.nowMs(), rows });
  return sent(visit, `report-${learnerId}`, learnerId, body);
}

async function forClass(visit: Visit): Promise<Answer> {
  const { app, organisationId: id, query } = visit;
  const { groupIds, visibility } = await readResultFilter(visit);
  if (groupIds[0] === undefined) return { to: `${visit.base}/results/gaps` };
  const group = await groupOf(visit, groupIds[0]);
  if (group === null) throw new NoSuchPage();
  const members = await membersOf(app.db, id, { groupIds, visibility }, null, maxInClass + 1);
  if (members.length > maxInClass)
    return refusal(
      'The group is too large for a class report',
      `A report has at most ${maxInClass} learners. Choose a smaller group.`,
    );
  const subject = subjectIn(query);
  const scope = { subject: subjects.indexOf(subject), visibility };
  const rows = await progressOfLearners(app.db, id, members, scope);
  const { name: organisation } = await readOrganisation(app.db, id);
  const head = { organisation, group: group.name, subject, members: members.length, nowMs: app.clock.nowMs() };
  return sent(visit, `class-report-${subject}`, group.group_id, classReport({ ...head, rows }));
}
