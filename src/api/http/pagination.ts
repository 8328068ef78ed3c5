import { Type } from '../../platform/validation/type.ts';

export const PaginationSchema = Type.Object(
  {
    limit: Type.Integer({ description: 'The page size that was used.' }),
    has_more: Type.Boolean(),
    next: Type.Union([Type.String({ format: 'uri' }), Type.Null()], {
      description: 'Absolute address of the next page; null when exhausted.',
    }),
  },
  { $id: 'Pagination' },
);
