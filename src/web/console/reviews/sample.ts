import {
  type SampleInput,
  drawSample,
  maxPopulation,
  maxSample,
  sampleWords,
} from '../../../governance/result-reviews/sample.ts';
import { samplers } from '../../../organisations/users/roles.ts';
import { dayAfter, dayOf } from '../../../organisations/zone.ts';
import { filterQuery, readFilter } from '../../../records/results/lists/filter-query.ts';
import { number } from '../kit/blocks.ts';
import { any, faultsIn, isFaulty } from '../kit/form.ts';
import { formPage } from '../kit/page.ts';
import { type Answer, type ConsoleRoute, type Visit, again, formRoutes } from '../kit/route.ts';
import { groupFields, subjectField } from '../results/filter.ts';
import { assigneeChoices, assignees, visibleTo } from './review.ts';

export const reviewSampleRoutes: ConsoleRoute[] = formRoutes('/review/sample', samplers, samplePage, sample);

const sentQuery = ({ form: sent }: Visit) => new URLSearchParams(sent.entries());

async function samplePage(visit: Visit): Promise<Answer> {
  const { app, base, zone } = visit;
  const today = dayOf(new Date(app.clock.nowMs()), zone);
  const groups = await groupFields({ ...visit, query: sentQuery(visit) });
  const people = any(assigneeChoices(await assignees(visit)), 'Choose');
  return formPage(visit, {
    title: 'Draw sample',
    says: 'A random sample for internal quality assurance. Each result gets a review.',
    back: { to: `${base}/review`, label: 'Reviews' },
    button: 'Draw sample',
    fields: (f) => [
      f.text('size', 'Size', { hint: 'A number of results or a percentage, such as 10 or 5 %.', width: 10 }),
      f.text('from', 'Assessed from', { type: 'date', initial: dayAfter(today, -90) }),
      f.text('to', 'Assessed to', { type: 'date', initial: today }),
      subjectField(f),
      groups,
      f.select('person', 'Assign to', people),
    ],
  });
}

function readSize(text: string): SampleInput['size'] | null {
  const [, digits, percent] = /^(\d{1,3}) ?(%?)$/.exec(text) ?? [];
  const n = Number(digits ?? 0);
  return n < 1 || n > (percent === '%' ? 100 : maxSample) ? null : { n, isPercent: percent === '%' };
}

async function sample(visit: Visit) {
  const { app, base, form: sent, organisationId: id, userId, zone, change } = visit;
  const query = filterQuery(sentQuery(visit), []);
  const filter = readFilter(query, zone, null);
  const size = readSize(sent.text('size'));
  const member = (await assignees(visit)).get(sent.raw('person'));
  const faults = faultsIn({
    size: size === null && `Enter a number from 1 to ${maxSample}, or a percentage such as 5 %.`,
    from: filter.assessedFromUs === null && 'Enter the first day.',
    to: filter.assessedBeforeUs === null && 'Enter the last day.',
    group: query.has('type') && filter.groupIds.length === 0 && 'Choose a group of this type.',
    person: member === undefined && 'Choose the person who checks the results.',
  });
  if (isFaulty(faults)) return again(faults);
  const to = member!.user_id;
  const input = { filter, size: size!, to, visibleToAssignee: await visibleTo(visit, member!), actor: userId };
  const sampleId = app.random.uuid();
  const drawn = await change(
    (work) => drawSample(work, id, { ...input, sampleId }),
    (found) => found.ids.length > 0 && `${sampleId}: ${sampleWords(found)}; ${query.toString()}`,
  );
  if (drawn.population > maxPopulation)
    return again({ from: `More than ${number(maxPopulation)} results match. Choose a shorter period or a group.` });
  if (drawn.population === 0) return again({ from: 'No result matches. Choose a longer period or other results.' });
  if (drawn.ids.length === 0)
    return again({ size: `A sample has at most ${maxSample} results. Enter a smaller size.` });
  return { to: `${base}/review?assigned=${to === userId ? 'me' : to}&did=sampled&sample=${sampleId}` };
}
