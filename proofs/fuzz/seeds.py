"""What fuzzing begins with: a little of everything that the parsers know."""

from typing import Final

JSON: Final = (
    b"{}",
    b"null",
    b'[1,-2.5e10,true,false,null,"\\u00e9\\ud83d\\ude00"]',
    b'{"a":{"b":[{"c":[]}]},"a\\u0000":9007199254740991}',
    b"[" * 30 + b"]" * 30,
    b'"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"',
    b"[NaN,Infinity,-Infinity,1e400,-0,0.0,1e-7]",
    b'{"x":"' + b"y" * 300 + b'"}',
)
_QUESTION: Final = (
    b'{"payload":{"kind":"approval","message":"Book it?","action":{"name":"book","arguments":{"flight":"AZ1"}},'
    b'"responseSchema":{"type":"object"}},"correlationId":"trip","continuationId":"q 1","metadata":{"a":1},'
    b'"expiresAt":"2030-01-01T00:00:00.000Z","answerableBy":["token","operator"],"queue":"travel"}'
)
BODIES: Final = (
    _QUESTION,
    b'{"payload":null,"shownDigest":"00"}',
    b'{"expectedVersion":1,"reason":"no more"}',
    b'{"worker":"w","leaseSeconds":60,"queue":"q","wait":0.5,"action":{"name":"book","arguments":{}}}',
    b'{"fence":1,"leaseSeconds":30,"result":[1],"reason":"?","status":"completed"}',
    b'{"fence":1,"key":"act","kind":"book","arguments":{"flight":"AZ1"}}',
    b'{"outcome":"done","evidence":"looked","result":null}',
)
CONNECTIONS: Final = tuple(
    bytes([cut]) + data
    for cut, data in enumerate(
        (
            b"GET /v1/continuations?status=pending HTTP/1.1\r\nHost: a\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a:1\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}",
            b"POST / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n\r\n",
            b"\r\nHEAD /%41 HTTP/1.0\r\nHost: [::1]\r\nConnection: keep-alive\r\nX-A: \xe9\t\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n",
            b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
            b"FROB /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxGET /b HTTP/1.1\r\n",
        )
    )
)
HEADERS: Final = (
    b'1\nhost:a\nidempotency-key:"k"\ncontent-length:2',
    b"1\nhost:a\nidempotency-key:  k \nidempotency-key:l\ntransfer-encoding:chunked",
    b"0\nauthorization:Bearer pmk_1\nx-api-key:pmk_1\ncontent-type:application/json; charset=utf-8",
    b'1\nhost:a\nidempotency-key:"a\\"b\\\\c"',
)
QUERIES: Final = (
    b"/v1/continuations?status=pending&limit=50&cursor=abc&kind=approval&correlationId=a%20b",
    b"/v1/continuations?dueBefore=2030-01-01T00:00:00.000Z&limit=200",
    b"/v1/continuations/q_1?wait=25.000",
    b"/v1/events?after=abc&token=pmr_0000000000000000",
    b"/?a=%ff&b=%zz&&=&a=1;b=2",
)
SCHEMAS: Final = (
    b'{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^[a-z]{1,8}$"}}}\x00{"a":"b"}',
    b'{"$defs":{"n":{"anyOf":[{"const":1},{"$ref":"#/$defs/m"}]},"m":{"items":{"$ref":"#/$defs/n"}}}}\x00[[1]]',
    b'{"$defs":{"n":{"items":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"}\x00[[[]]]',
    b'{"oneOf":[{"const":1},{"enum":[1,2]},{"not":{"minimum":3,"multipleOf":0.5}}]}\x002',
    b'{"patternProperties":{"^x-":{"format":"email"}},"additionalProperties":false}\x00{"x-a":1}',
    b'{"dependentRequired":{"a":["b"]},"propertyNames":{"maxLength":3},"unevaluatedProperties":false}\x00{"a":1}',
    b'{"prefixItems":[true,false],"contains":{"type":"integer"},"minContains":1,"uniqueItems":true}\x00[1,2]',
    b'{"if":{"properties":{"k":{"const":"a"}}},"then":{"maxProperties":1},"else":{"$ref":"#"}}\x00{}',
    b"true\x00null",
)
WORDS: Final = (
    b"\x00", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\r", b" ", b"\t", b"\\", b'"',
    b'\\"', b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b",", b":", b"1e999", b"-0", b"9007199254740993", b"NaN",
    b"0" * 20, b"%00", b"%", b"&", b"=", b";", b"+", b"content-length: 1\r\n", b"transfer-encoding: chunked\r\n",
    b"host: b\r\n", b"\r\n\r\n", b"0\r\n\r\n", b" HTTP/1.1\r\n", b'"$ref":"#"', b'"pattern":"(a+)+$"', b'"type":',
    b'"items":{', b'"anyOf":[', b'"const":', b"#/$defs/", b"~1", b"~0", b'"__proto__":1', b"pmk_", b"pmr_",
)  # fmt: skip
"""What mutated input is salted with."""
