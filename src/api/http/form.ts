import { readFields, readParts } from './form-fields.ts';
import { limits } from '../../platform/config/limits.ts';

export class Form {
  #values = new Map<string, string[]>();
  #files = new Map<string, Buffer>();
  /** The form was kept during a sign-in, and is shown on its own page or on a page above. */
  kept: 'own' | 'above' | null = null;

  static of(fields: readonly [string, string][], kept: Form['kept'] = null): Form {
    const form = new Form();
    for (const [name, value] of fields) form.#values.set(name, [...form.all(name), value]);
    form.kept = kept;
    return form;
  }

  entries(): [string, string][] {
    return [...this.#values].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
  }

  /** @param body text of `application/x-www-form-urlencoded`, or bytes of `multipart/form-data` */
  static async read(body: unknown, contentType = ''): Promise<Form> {
    const form = new Form();
    const sent = Buffer.isBuffer(body)
      ? await readParts(body, contentType, limits.formParts)
      : readFields(typeof body === 'string' ? body : '', limits.formFields);
    for (const [name, value] of sent)
      if (typeof value !== 'string') {
        if (value.size > 0) form.#files.set(name, Buffer.from(await value.arrayBuffer()));
      } else {
        const values = form.#values.get(name);
        if (values === undefined) form.#values.set(name, [value]);
        else values.push(value);
      }
    return form;
  }

  /** The text as the person typed it, because a password may begin with a space. */
  raw(name: string): string {
    return this.#values.get(name)?.at(-1) ?? '';
  }

  text(name: string): string {
    return this.raw(name).trim();
  }

  /** Null if no file was chosen. */
  file(name: string): Buffer | null {
    return this.#files.get(name) ?? null;
  }

  /** All values of a field, because each ticked box sends one. */
  all(name: string): string[] {
    return this.#values.get(name) ?? [];
  }
}
