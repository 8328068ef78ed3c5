/**
 * Collects a statement's values and the parts of its name. Different texts need different names, because the driver
 * prepares statements by name.
 */
export class StatementBuilder {
  readonly values: unknown[];
  readonly #name: string[] = [];
  constructor(organisationId: number) {
    this.values = [organisationId];
  }
  bind(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
  note(part: string | number): void {
    this.#name.push(String(part));
  }
  get name(): string {
    return this.#name.join('.');
  }
}
