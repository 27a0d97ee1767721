import { describe, expect, it } from 'vitest';
import { fairwayErrorOf, problemOf } from '../../../src/api/problem.ts';
import { errorCodes, FairwayError } from '../../../src/lib/errors.ts';

describe('a problem document', () => {
  it('has what RFC 9457 asks for, and the code', () => {
    const errors = [{ pointer: '/spec/port', message: 'must be from 1 to 65535' }];
    const error = new FairwayError('InvalidObject', 'reading the object: no', { errors, extra: { current: 1 } });
    expect(problemOf(error, 'id-1')).toEqual({
      type: 'urn:fairway:problem:InvalidObject',
      title: errorCodes.InvalidObject.title,
      status: 422,
      detail: 'reading the object: no',
      code: 'InvalidObject',
      errors,
      requestId: 'id-1',
      current: 1,
    });
  });

  it('is not overruled by what an error brings', () => {
    const extra = { status: 200, code: 'Fine', type: 'x', title: 'x', detail: 'x' };
    expect(problemOf(new FairwayError('Conflict', 'no', { extra }))).toMatchObject({
      status: 409,
      code: 'Conflict',
      detail: 'no',
    });
  });

  it.each([
    [
      'the whole PEM block',
      '-----BEGIN PRIVATE KEY-----\nMIGH\nabc\n-----END PRIVATE KEY----- stays',
      '[redacted] stays',
    ],
    ['a block without an end', 'x -----BEGIN RSA PRIVATE KEY-----\nMIGH', 'x [redacted]'],
    ['a line of base64', `tag !MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIwhljCY2kZpnJiWf.`, 'tag ![redacted].'],
  ])('leaves out %s', (_what, message, want) => {
    const problem = problemOf(
      new FairwayError('InvalidObject', message, { errors: [{ pointer: `/${message}`, message }] }),
    );
    expect(problem.detail).toBe(want);
    expect(problem.errors?.[0]?.message).toBe(want);
    expect(problem.errors?.[0]?.pointer).not.toContain('MIGH');
  });

  it.each([
    ['a long pointer', '/spec/listeners/0/routes/12/rules/100/match/0/headers/1/exactlyThis/AndThat/AndMore'],
    ['a long name', `VirtualService ${'a1'.repeat(31)}/${'b2'.repeat(31)}`],
    ['a host', `${'abc123.'.repeat(20)}Example`],
  ])('keeps %s', (_what, message) => {
    expect(problemOf(new FairwayError('InvalidObject', message)).detail).toBe(message);
  });
});

describe('an error that is none of the table', () => {
  it('says nothing of itself', () => {
    const error = fairwayErrorOf(new TypeError('/etc/passwd: secret'));
    expect(problemOf(error)).toEqual({
      type: 'urn:fairway:problem:Internal',
      title: errorCodes.Internal.title,
      status: 500,
      detail: 'answering the request failed',
      code: 'Internal',
    });
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  it.each([
    ['FST_ERR_CTP_BODY_TOO_LARGE', 'TooLarge'],
    ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'UnsupportedMediaType'],
    ['FST_ERR_ROUTE_MISSING_CONTENT_TYPE', 'UnsupportedMediaType'],
    ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 'MalformedBody'],
    ['FST_ERR_BAD_URL', 'InvalidParameter'],
    ['HPE_HEADER_OVERFLOW', 'TooLarge'],
    ['ERR_HTTP_REQUEST_TIMEOUT', 'MalformedBody'],
    ['FST_ERR_SOMETHING', 'Internal'],
  ])('of the framework becomes one: %s', (code, want) => {
    expect(fairwayErrorOf(Object.assign(new Error('x'), { code }), 1024).code).toBe(want);
  });

  it.each([
    [400, 'MalformedBody'],
    [499, 'MalformedBody'],
    [500, 'Internal'],
  ])('of the framework, with status %i, is %s', (statusCode, want) => {
    expect(fairwayErrorOf(Object.assign(new Error('x'), { code: 'FST_ERR_NEW', statusCode })).code).toBe(want);
    expect(fairwayErrorOf(Object.assign(new Error('x'), { code: 'OTHER', statusCode })).code).toBe('Internal');
  });

  it('of a body that is too large names the limit', () => {
    const error = fairwayErrorOf(Object.assign(new Error('x'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE' }), 1024);
    expect(error.message).toContain('bodyBytes of 1024 bytes');
    expect(error.extra).toEqual({ limit: 'bodyBytes', maximum: 1024 });
  });
});
