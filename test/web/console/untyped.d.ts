declare module 'oidc-provider' {
  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): import('node:http').RequestListener;
  }
}
