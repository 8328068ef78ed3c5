/** Collects the values of a statement about an organisation, and the parts of a name that differs wherever the text differs. */
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
