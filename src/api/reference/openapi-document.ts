import type { Schema } from './openapi-schema.ts';

/** The parts of OpenAPI 3.1 that our document uses. */

export type OpenApiParameter = {
  name: string;
  in: string;
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
  style?: string;
  explode?: boolean;
};

export type OpenApiReply = {
  description: string;
  headers?: Record<string, Schema>;
  content?: Record<
    string,
    { schema: Schema; example?: unknown; examples?: Record<string, { summary?: string; value: unknown }> }
  >;
};

export type OpenApiOperation = {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: (OpenApiParameter | { $ref: string })[];
  requestBody?: { required: true; content: Record<string, { schema: Schema; example: unknown }> };
  responses: Record<string, OpenApiReply | { $ref: string }>;
};

export type OpenApiDocument = {
  openapi: string;
  info: Record<string, unknown> & { title: string; version: string; description: string };
  servers: { url: string }[];
  externalDocs: { description: string; url: string };
  tags: { name: string; description: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Record<string, OpenApiOperation>>;
  webhooks: Record<string, Record<string, OpenApiOperation>>;
  components: {
    securitySchemes: Record<string, Schema>;
    parameters: Record<string, OpenApiParameter>;
    headers: Record<string, Schema>;
    responses: Record<string, OpenApiReply>;
    schemas: Record<string, Schema>;
  };
};
