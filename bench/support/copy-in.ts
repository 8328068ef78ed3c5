import type pg from 'pg';

/** A COPY as the driver lets one be sent, without the package that usually does so. */
export class CopyIn {
  readonly done: Promise<void>;
  readonly #begun: Promise<any>;
  #begin!: (connection: any) => void;
  #end!: () => void;
  #fail!: (error: Error) => void;
  #sql: string;

  constructor(client: pg.ClientBase, sql: string) {
    this.#sql = sql;
    this.#begun = new Promise((resolve) => (this.#begin = resolve));
    this.done = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    client.query(this as never);
  }

  /** Resolves once more may be sent. */
  async send(chunk: Buffer): Promise<void> {
    const connection = await this.#begun;
    connection.sendCopyFromChunk(chunk);
    if (connection.stream.writableNeedDrain === true)
      await new Promise((resolve) => connection.stream.once('drain', resolve));
  }
  async end(): Promise<void> {
    (await this.#begun).endCopyFrom();
    await this.done;
  }

  submit(connection: any): void {
    connection.query(this.#sql);
  }
  handleCopyInResponse(connection: any): void {
    this.#begin(connection);
  }
  handleCommandComplete(): void {}
  handleReadyForQuery(): void {
    this.#end();
  }
  handleError(error: Error): void {
    this.#fail(error);
  }
}
