import type { Content } from '../../../platform/html/html.ts';
import type { KeyDescription, KeyFault } from '../../../integrations/access-keys/description.ts';
import { readDescription } from '../../../integrations/access-keys/description.ts';
import { limits } from '../../../platform/config/limits.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import type { Faults } from '../kit/form.ts';
import { enterButton, groupField } from '../kit/group-field.ts';
import type { Visit } from '../kit/route.ts';
import { lastInstantOf } from '../../../organisations/zone.ts';
import { fieldsOf } from '../kit/form.ts';

/** The fields of the forms of a key and of a set-up link. */
export async function describedFields(visit: Visit, faults: Faults): Promise<Content> {
  const f = fieldsOf(visit, faults);
  return [
    enterButton(),
    f.text('label', 'Label', { hint: 'How you tell it from others, such as the name of the platform.' }),
    f.text('purpose', 'Purpose (optional)', {
      hint: 'What it is used for, for the receipt and whoever comes after you.',
    }),
    f.text('contact', 'Contact (optional)', { hint: 'Whom to ask about it.' }),
    f.text('expires', 'Last day (optional)', { hint: 'Without one it works until it is revoked.', type: 'date' }),
    f.lines('networks', 'Networks that it may be used from (optional)', {
      hint: 'One a line, such as 203.0.113.0/24. Without any it works from everywhere.',
      rows: 3,
    }),
    f.tick('subjects', 'Subjects that it may see', shortSubjectNames, {
      hint: 'None ticked: all. A bound makes the key read only, and is fixed for good.',
    }),
    await groupField(visit, {
      label: 'Groups whose members it may see',
      hint: `None ticked: all. At most ${limits.keyGroups}. A bound makes the key read only, and is fixed for good.`,
      chosen: visit.form.all('groups'),
      fault: faults.groups,
    }),
  ];
}

const sentences: Record<KeyFault['field'], string> = {
  label: 'The label',
  purpose: 'The purpose',
  contact: 'The contact',
  expires: 'The last day',
  networks: 'The networks',
  groups: 'The groups',
  subjects: 'The subjects',
};

export async function readDescribed(visit: Visit): Promise<{ description: KeyDescription } | { faults: Faults }> {
  const { app, organisation, organisationId, zone, form: sent } = visit;
  const lastDay = sent.text('expires');
  const label = sent.text('label');
  const read = await readDescription(
    app.db,
    organisationId,
    {
      label,
      purpose: sent.text('purpose'),
      contact: sent.text('contact'),
      test: organisation.is_test,
      expires: lastDay === '' ? '' : (lastInstantOf(lastDay, zone)?.toISOString() ?? lastDay),
      networks: sent
        .raw('networks')
        .split(/[\s,]+/)
        .filter((one) => one !== ''),
      groups: sent.all('groups'),
      subjects: sent.all('subjects'),
    },
    app.clock.nowMs(),
  );
  const faults: Faults = label === '' ? { label: 'Enter a label, such as the name of the platform.' } : {};
  if ('faults' in read) for (const one of read.faults) faults[one.field] ??= `${sentences[one.field]} ${one.expected}.`;
  return 'description' in read && label !== '' ? read : { faults };
}
