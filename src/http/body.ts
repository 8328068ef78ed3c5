import { ApiError } from '../errors.ts';
import type { FieldCode } from '../errors.ts';
import type { GroupInput } from '../groups/schema.ts';
import { clientGroupTypes, teamType } from '../groups/types.ts';
import { limits } from '../limits.ts';
import { holdsNationalInsuranceNumber, isNameOf, isOpaqueRef, isPlainText } from '../personal-data.ts';

/** The body of a request, read field by field in the order of the endpoint's own table; each reader names what it expects. */
export class Body {
  #fields: Record<string, unknown>;

  constructor(fields: Record<string, unknown>) {
    this.#fields = fields;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name);
  }

  get(name: string): unknown {
    return this.has(name) ? this.#fields[name] : undefined;
  }

  /** After the known fields were read without fault. @throws ApiError unknown_field */
  rejectUnknown(known: readonly string[]): void {
    if (Object.keys(this.#fields).some((name) => !known.includes(name))) {
      throw new ApiError('unknown_field', `The body may have only these fields: ${known.join(', ')}.`);
    }
  }

  /** One line of text. */
  text(name: string, code: FieldCode, mostChars: number): string {
    const value = this.get(name);
    const expected = `${name} must be text of 1 to ${mostChars} characters on one line`;
    if (typeof value !== 'string' || !isPlainText(value, mostChars)) throw ApiError.field(code, `${expected}.`);
    if (holdsNationalInsuranceNumber(value))
      throw ApiError.field(code, `${expected} without a National Insurance number.`);
    return value;
  }

  flag(name: string, code: FieldCode): boolean | undefined {
    const value = this.get(name);
    if (!this.has(name)) return undefined;
    if (typeof value !== 'boolean') throw ApiError.field(code, `${name} must be true or false.`);
    return value;
  }

  /** A list of text, 1 to `most` after duplicates collapse; undefined when the field is absent and may be. */
  list(
    name: string,
    code: FieldCode,
    most: number,
    each: string,
    isValid: (text: string) => boolean,
    required = false,
  ): string[] | undefined {
    if (!this.has(name) && !required) return undefined;
    const value = this.get(name);
    const expected = `${name} must be a list of 1 to ${most} ${each}.`;
    if (!Array.isArray(value) || !value.every((one): one is string => typeof one === 'string' && isValid(one)))
      throw ApiError.field(code, expected);
    const distinct = [...new Set(value)];
    if (distinct.length < 1 || distinct.length > most) throw ApiError.field(code, expected);
    return distinct;
  }
}

export function readFullName(body: Body): string {
  return body.text('full_name', 'invalid_full_name', limits.fullNameChars);
}

const email =
  /^[^\s\p{C}@<>()[\],;:\\"]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/u;

export function readEmail(body: Body): string | null {
  if (!body.has('email')) return null;
  const value = body.get('email');
  if (
    typeof value !== 'string' ||
    value.length > limits.emailChars ||
    !email.test(value) ||
    holdsNationalInsuranceNumber(value)
  ) {
    throw ApiError.field('invalid_email', 'email must be an e-mail address, such as name@example.org.');
  }
  return value;
}

export function readLearnerRef(body: Body, fullName: string): string | null {
  if (!body.has('ref')) return null;
  const value = body.get('ref');
  if (typeof value !== 'string' || !isOpaqueRef(value) || isNameOf(value, fullName)) {
    throw ApiError.field(
      'invalid_ref',
      `ref must be an opaque reference of 1 to ${limits.learnerRefChars} letters, digits, . _ : / or -, starting with a letter or digit; never a name, an e-mail address or a National Insurance number.`,
    );
  }
  return value;
}

const groupFields = ['ref', 'name', 'type'];

/** The groups of a provisioning request; `team` is refused by `refuseTeams`, after every shape is right. */
export function readGroups(body: Body, ref: string | null): GroupInput[] {
  if (!body.has('groups')) return [];
  const value = body.get('groups');
  if (!Array.isArray(value) || value.length > limits.groupsPerProvisioning) {
    throw ApiError.field('invalid_groups', `groups must be a list of at most ${limits.groupsPerProvisioning} groups.`);
  }
  const groups = new Map<string, GroupInput>();
  for (const entry of value as unknown[]) {
    const fail = (expected: string): never => {
      throw ApiError.field('invalid_groups', `Each of groups must have ${expected}.`);
    };
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) fail('ref, name and type');
    const group = new Body(entry as Record<string, unknown>);
    if (Object.keys(entry as object).some((name) => !groupFields.includes(name))) fail('only ref, name and type');
    const type = group.get('type');
    if (typeof type !== 'string' || (type !== teamType && !(clientGroupTypes as readonly string[]).includes(type))) {
      fail(`a type of ${clientGroupTypes.join(', ')}`);
    }
    const groupRef = group.text('ref', 'invalid_groups', limits.groupRefChars);
    const name = group.text('name', 'invalid_groups', limits.groupNameChars);
    const key = `${type as string} ${groupRef}`;
    const twin = groups.get(key);
    if (twin !== undefined && twin.name !== name) fail('one name, where a type and ref is given twice');
    groups.set(key, { type: type as string, ref: groupRef, name });
  }
  if (groups.size > 0 && ref === null)
    throw ApiError.field('invalid_groups', 'groups needs a ref, so that the learner can be found again.');
  return [...groups.values()];
}

/** @throws ApiError team_group_managed */
export function refuseTeams(groups: { type: string }[]): void {
  if (groups.some((group) => group.type === teamType)) throw new ApiError('team_group_managed');
}

/** The type of POST /groups; `team` is refused with its own code. */
export function readGroupType(body: Body): string {
  const type = body.get('type');
  if (typeof type !== 'string' || (type !== teamType && !(clientGroupTypes as readonly string[]).includes(type))) {
    throw ApiError.field('invalid_type', `type must be one of ${clientGroupTypes.join(', ')}.`);
  }
  return type;
}

export function readLearnerRefs(body: Body): string[] {
  return body.list(
    'learner_refs',
    'invalid_learner_refs',
    limits.refsPerRequest,
    'learner references: letters, digits, . _ : / or -, starting with a letter or digit',
    isOpaqueRef,
    true,
  )!;
}
