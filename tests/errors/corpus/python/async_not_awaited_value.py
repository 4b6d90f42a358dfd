import asyncio

async def main():
    await print('x')

asyncio.run(main())
